import { Select, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { NumberField } from '../NumberField';
import { DESCRIPTION, podPath, policyPath, policyText, QUEUE, SCALING, text, tree } from '../projection';
import { queueOf, setQueue } from '../queues';
import { sharedBy } from '../shared';
import { elasticLimits } from '../starters';
import { PairRows } from './PairRows';
import { QueueField } from './QueueField';
import { forRoles, labelOf, type SectionProps } from './section';

const CLEAN = ['Running', 'All', 'None'];
const SCALINGS = ['manual', 'yield', 'idle'];
const POLICIES = ['backoffLimit', 'activeDeadlineSeconds', 'ttlSecondsAfterFinished'] as const;
const SCALED = ['pytorchjob', 'mpijob'];

export function AdvancedSection(props: SectionProps) {
  const { t } = useTranslation();
  const { form, disabled, edit } = props;
  const own = ([key]: readonly [string, string]) => ![DESCRIPTION, QUEUE, SCALING].includes(key);
  return (
    <details className="advanced">
      <summary>
        <h2 className="card-title">{t('wizard.advanced')}</h2>
      </summary>
      <Policy {...props} />
      <Scheduling {...props} />
      <Elastic {...props} />
      <PairRows
        label={t('wizard.labels')}
        addLabel={t('wizard.addLabels')}
        pairs={Object.entries(form.labels).filter(own)}
        path={['metadata', 'labels']}
        disabled={disabled}
        edit={edit}
      />
      <PairRows
        label={t('wizard.annotations')}
        addLabel={t('wizard.addAnnotations')}
        pairs={Object.entries(form.annotations).filter(own)}
        path={['metadata', 'annotations']}
        disabled={disabled}
        edit={edit}
      />
    </details>
  );
}

function whole(value: string): number | null {
  return value === '' || Number.isNaN(Number(value)) ? null : Number(value);
}

/** When the job ends, and what stays. */
function Policy({ form, disabled, errorAt, edit }: SectionProps) {
  const { t } = useTranslation();
  return (
    <div className="form-row">
      {POLICIES.map((field) => (
        <NumberField
          key={field}
          label={t(`wizard.${field}`)}
          placeholder={t(`wizard.${field}None`)}
          min={0}
          value={whole(policyText(form, field))}
          disabled={disabled}
          error={errorAt(policyPath(form, field))}
          onEmpty={() => edit([policyPath(form, field), undefined])}
          onNumber={(value) => edit([policyPath(form, field), value])}
        />
      ))}
      <Select
        label={t('wizard.cleanPodPolicy')}
        placeholder={t('wizard.default')}
        clearable
        data={CLEAN.map((value) => ({ value, label: t(`cleanPodPolicy.${value as 'All' | 'None' | 'Running'}`) }))}
        value={policyText(form, 'cleanPodPolicy') || null}
        disabled={disabled}
        error={errorAt(policyPath(form, 'cleanPodPolicy'))}
        onChange={(value) => edit([policyPath(form, 'cleanPodPolicy'), value ?? undefined])}
      />
    </div>
  );
}

/** Who decides when and where it runs: queue, priority, scheduler. */
function Scheduling({ form, kind, capabilities, disabled, errorAt, edit }: SectionProps) {
  const { t } = useTranslation();
  return (
    <div className="form-row">
      <QueueField
        chosen={queueOf(form)}
        namespace={form.namespace || capabilities.namespace}
        disabled={disabled}
        onChange={(name, queues) => edit(...setQueue(form, name, queues))}
      />
      {(['priorityClassName', 'schedulerName'] as const).flatMap((field) =>
        sharedBy(form.roles, (role) => role.pod[field]).map((shared) => (
          <TextInput
            key={field + shared.role}
            label={labelOf(t, t(`wizard.${field}`), shared)}
            placeholder={t('wizard.default')}
            value={text(shared.first.pod[field])}
            disabled={disabled}
            error={errorAt([...podPath(kind, shared.first), field])}
            onChange={(event) => {
              const value = event.currentTarget.value || undefined;
              edit(...forRoles(shared.roles, (role) => [[[...podPath(kind, role), field], value]]));
            }}
          />
        )),
      )}
    </div>
  );
}

function Elastic({ form, kind, disabled, errorAt, edit }: SectionProps) {
  const { t } = useTranslation();
  const policy = tree(form.spec.elasticPolicy);
  const scaling = form.annotations[SCALING] ?? '';
  return (
    <div className="form-row">
      {elasticLimits(kind).map((field) => (
        <NumberField
          key={field}
          label={t(`wizard.${field}`)}
          min={field === 'maxRestarts' ? 0 : 1}
          value={whole(text(policy[field]))}
          disabled={disabled}
          error={errorAt(['spec', 'elasticPolicy', field])}
          onEmpty={() => edit([['spec', 'elasticPolicy', field], undefined])}
          onNumber={(value) => edit([['spec', 'elasticPolicy', field], value])}
        />
      ))}
      {SCALED.includes(kind.kind) && (
        <Select
          label={t('wizard.scaling')}
          placeholder={t('scaling.manual')}
          clearable
          data={SCALINGS.map((value) => ({ value, label: t(`scaling.${value as 'idle' | 'manual' | 'yield'}`) }))}
          value={scaling || null}
          disabled={disabled}
          onChange={(value) => edit([['metadata', 'annotations', SCALING], value ?? undefined])}
        />
      )}
    </div>
  );
}
