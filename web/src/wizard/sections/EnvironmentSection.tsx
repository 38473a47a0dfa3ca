import { Alert, Autocomplete, Button, Select, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { EnvironmentList } from '../../api/contract.gen';
import { request } from '../../api/http';
import { PlusIcon } from '../../icons';
import { ENVIRONMENT_MOUNT, environmentClaim, setEnvironmentClaim } from '../environmentClaims';
import {
  beforeStart,
  environmentOf,
  lacksStart,
  rolesWithOwnHook,
  setBeforeStart,
  setEnvironment,
} from '../environments';
import { containerPath, text, tree, trees } from '../projection';
import { type Shared, sharedBy } from '../shared';
import { directoryOf, installOf } from '../startCommand';
import { useTypedText } from '../useTypedText';
import { Row } from './Row';
import { forRoles, labelOf, type SectionProps } from './section';

/** Where it runs: runtime environment, what is installed first, environment variables. */
export function EnvironmentSection(props: SectionProps) {
  const { t } = useTranslation();
  const { form, kind, disabled, edit } = props;
  const before = beforeStart(kind, form);
  const install = useTypedText(before.install, installOf, (value) =>
    edit(...setBeforeStart(kind, form, { ...before, install: value })),
  );
  const hooked = rolesWithOwnHook(kind, form);
  return (
    <>
      <h2 className="card-title">{t('wizard.environment')}</h2>
      <RuntimeEnvironment {...props} />
      <Textarea
        label={t('wizard.install')}
        description={t('wizard.installHint')}
        placeholder={'pip install -r requirements.txt'}
        value={install.text}
        disabled={disabled}
        autosize
        minRows={1}
        maxRows={8}
        classNames={{ input: 'mono' }}
        spellCheck={false}
        onChange={(event) => install.type(event.currentTarget.value)}
        onBlur={install.leave}
      />
      {lacksStart(kind, form) && <Alert color="yellow">{t('wizard.installNeedsCommand')}</Alert>}
      {hooked.length > 0 && <Alert color="yellow">{t('wizard.ownHook', { roles: hooked.join(', ') })}</Alert>}
      {sharedBy(form.roles, (role) => role.main.env).map((shared) => (
        <Variables key={shared.role} {...props} shared={shared} />
      ))}
    </>
  );
}

/** On one machine a directory of the machine, which the node knows; on a cluster a directory in a volume. */
function RuntimeEnvironment(props: SectionProps) {
  return props.capabilities.mode === 'embedded' ? <LocalEnvironment {...props} /> : <VolumeEnvironment {...props} />;
}

function useEnvironments(namespace: string) {
  return useQuery({
    queryKey: ['environments', namespace],
    queryFn: ({ signal }) =>
      request<EnvironmentList>('GET', `environments?${new URLSearchParams({ namespace })}`, { signal }),
  }).data;
}

/** Those of `traincrew image list`, and any other directory. */
function LocalEnvironment({ form, kind, capabilities, disabled, edit }: SectionProps) {
  const { t } = useTranslation();
  const known = useEnvironments(form.namespace || capabilities.namespace)?.environments ?? [];
  const images = new Map(known.map((each) => [each.directory, each.images.join(', ')]));
  const [first] = form.roles;
  const directory = useTypedText(first ? environmentOf(first) : '', directoryOf, (value) =>
    edit(...setEnvironment(kind, form, value)),
  );
  return (
    <Autocomplete
      label={t('wizard.runtimeEnvironment')}
      description={t('wizard.environmentHere')}
      placeholder={'/home/me/venvs/torch'}
      data={known.map((each) => each.directory)}
      filter={({ options }) => options}
      renderOption={({ option }) => (
        <span>
          {option.value} <span className="quiet">{images.get(option.value)}</span>
        </span>
      )}
      value={directory.text}
      disabled={disabled}
      onChange={directory.type}
      onBlur={directory.leave}
    />
  );
}

/** A volume claim of the namespace, and the directory of the environment in it. */
function VolumeEnvironment({ form, kind, capabilities, disabled, edit }: SectionProps) {
  const { t } = useTranslation();
  const claims = useEnvironments(form.namespace || capabilities.namespace)?.claims ?? [];
  const before = beforeStart(kind, form);
  const directory = useTypedText(before.environment, directoryOf, (environment) =>
    edit(...setBeforeStart(kind, form, { ...before, environment })),
  );
  return (
    <div className="form-row">
      <Select
        label={t('wizard.environmentClaim')}
        description={t('wizard.environmentClaimHint')}
        placeholder={claims.length === 0 ? t('wizard.environmentClaimNone') : ''}
        data={claims}
        clearable
        value={environmentClaim(form)}
        disabled={disabled || claims.length === 0}
        onChange={(claim) => edit(...setEnvironmentClaim(kind, form, claim))}
      />
      <TextInput
        label={t('wizard.runtimeEnvironment')}
        description={t('wizard.environmentVolume')}
        placeholder={`${ENVIRONMENT_MOUNT}/torch`}
        value={directory.text}
        disabled={disabled}
        onChange={(event) => directory.type(event.currentTarget.value)}
        onBlur={directory.leave}
      />
    </div>
  );
}

interface VariablesProps extends SectionProps {
  readonly shared: Shared;
}

function Variables({ shared, kind, disabled, errorAt, edit }: VariablesProps) {
  const { t } = useTranslation();
  const rows = trees(shared.first.main.env);
  const set = (index: number, key: string, value: unknown) =>
    edit(...forRoles(shared.roles, (role) => [[[...containerPath(kind, role), 'env', index, key], value]]));
  const whole = (index: number, value: unknown) =>
    edit(...forRoles(shared.roles, (role) => [[[...containerPath(kind, role), 'env', index], value]]));
  const label = labelOf(t, t('wizard.variables'), shared);
  return (
    <fieldset className="entries">
      <legend>{label}</legend>
      {rows.map((row, index) => (
        <Row
          // biome-ignore lint/suspicious/noArrayIndexKey: a variable is what is at its place; its name is being typed.
          key={index}
          removeLabel={t('wizard.remove', { name: text(row.name) })}
          disabled={disabled}
          onRemove={() => whole(index, undefined)}
        >
          <TextInput
            aria-label={t('wizard.variableName')}
            placeholder={t('wizard.variableName')}
            value={text(row.name)}
            disabled={disabled}
            error={errorAt([...containerPath(kind, shared.first), 'env', index, 'name'])}
            onChange={(event) => set(index, 'name', event.currentTarget.value)}
          />
          {row.valueFrom === undefined ? (
            <TextInput
              aria-label={t('wizard.value')}
              placeholder={t('wizard.value')}
              value={text(row.value)}
              disabled={disabled}
              onChange={(event) => set(index, 'value', event.currentTarget.value)}
            />
          ) : (
            <span className="quiet">{t('wizard.fromObject', { kind: Object.keys(tree(row.valueFrom))[0] ?? '' })}</span>
          )}
        </Row>
      ))}
      <Button
        size="compact-xs"
        variant="subtle"
        leftSection={<PlusIcon size={12} />}
        disabled={disabled}
        onClick={() => whole(rows.length, { name: '', value: '' })}
      >
        {t('wizard.addVariable')}
      </Button>
    </fieldset>
  );
}
