import { Alert, Button, Group, SegmentedControl } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Capabilities } from '../api/contract.gen';
import { useSay } from '../i18n/say';
import { SaveTemplate } from '../templates/SaveTemplate';
import type { Origin } from './drafts';
import { JobForm } from './JobForm';
import { ManifestEditor, type Mark } from './ManifestEditor';
import { ReviewSection } from './ReviewSection';
import { RunHere } from './RunHere';
import { SubmitBar } from './SubmitBar';
import type { Edit } from './sections/section';
import { hasStarter } from './starters';
import { type DryRun, useDryRun } from './useDryRun';
import { type Manifest, useManifest } from './useManifest';

interface Props {
  readonly capabilities: Capabilities;
  /** The name under which the draft is kept. */
  readonly draft: string;
  readonly first: string;
  /** The text without any change of the user. */
  readonly beginning: string;
  /** Where the user came from by choosing another kind. */
  readonly left: Origin | null;
  readonly onLeave: () => void;
}

export function Wizard({ capabilities, draft, first, beginning, left, onLeave }: Props) {
  const { t } = useTranslation();
  const kinds = useMemo(() => capabilities.kinds.filter((kind) => kind.installed && hasStarter(kind)), [capabilities]);
  const manifest = useManifest(first, draft, kinds);
  const kind = kinds.find((each) => each.kindName === manifest.form.kindName);
  const namespace = manifest.form.namespace || capabilities.namespace;
  const dryRun = useDryRun(manifest.text, namespace, !manifest.broken);
  const marks = useMarks(manifest, dryRun);
  const [replaced, setReplaced] = useState<string | null>(null);
  const replace = (text: string) => {
    setReplaced(manifest.text);
    manifest.change(text);
  };
  const edit: Edit = (...changes) => {
    try {
      manifest.edit(...changes);
    } catch (error) {
      notifications.show({ color: 'red', message: `${t('wizard.editInYaml')} ${String(error)}` });
    }
  };
  return (
    <div className="page wizard">
      <WizardHead
        {...{ manifest, beginning, left, onLeave, replaced, replace }}
        kinds={kinds}
        kind={kind?.kind ?? ''}
      />
      <div className="wizard-columns">
        <section className="card" aria-label={t('wizard.form')}>
          <BrokenText manifest={manifest} />
          {manifest.parsed.others > 0 && (
            <p className="quiet">{t('wizard.others', { count: manifest.parsed.others })}</p>
          )}
          {kind ? (
            <JobForm
              form={manifest.form}
              kind={kind}
              capabilities={capabilities}
              disabled={manifest.broken}
              findings={dryRun.findings}
              edit={edit}
            />
          ) : (
            <Alert color="yellow">{t('wizard.unknownKind', { kind: manifest.form.kindName })}</Alert>
          )}
        </section>
        <section aria-label={t('tabs.yaml')} className="wizard-yaml">
          <ManifestEditor text={manifest.text} label={t('tabs.yaml')} marks={marks} onChange={manifest.change} />
        </section>
      </div>
      <ReviewSection capabilities={capabilities} manifest={manifest} namespace={namespace} dryRun={dryRun} />
      <SubmitBar manifest={manifest} namespace={namespace} dryRun={dryRun}>
        {kind && (
          <RunHere
            {...{ capabilities, kind, form: manifest.form, text: manifest.text }}
            disabled={manifest.broken}
            onShrink={replace}
          />
        )}
      </SubmitBar>
    </div>
  );
}

function useMarks(manifest: Manifest, dryRun: DryRun): Mark[] {
  const say = useSay();
  const { i18n } = useTranslation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another language says the same in other words.
  return useMemo(
    () => [
      ...manifest.parsed.problems.map((problem) => ({ ...problem, level: 'error' as const })),
      ...dryRun.findings.map(({ line, message, path, level }) => ({
        line,
        level,
        message: path ? `${path}: ${say(message)}` : say(message),
      })),
    ],
    [manifest.parsed, dryRun.findings, i18n.language],
  );
}

function BrokenText({ manifest }: { readonly manifest: Manifest }) {
  const { t } = useTranslation();
  const problem = manifest.parsed.problems[0];
  if (!problem) return null;
  return (
    <Alert color="red" mb="sm" title={t('wizard.broken')}>
      {t('problem.line', { line: problem.line })}: {problem.message}
    </Alert>
  );
}

interface HeadProps extends Pick<Props, 'beginning' | 'left' | 'onLeave'> {
  readonly manifest: Manifest;
  readonly kinds: Capabilities['kinds'];
  readonly kind: string;
  /** The text before it was replaced as a whole. */
  readonly replaced: string | null;
  readonly replace: (text: string) => void;
}

function WizardHead({ manifest, beginning, left, onLeave, kinds, kind, replaced, replace }: HeadProps) {
  const { t } = useTranslation();
  const navigate = useNavigate({ from: '/jobs/new' });
  const choose = (name: string) => {
    onLeave();
    void navigate({ search: { kind: name } });
  };
  return (
    <>
      <Group justify="space-between">
        <h1 className="page-title">{t('wizard.title')}</h1>
        <Group gap="xs">
          <SaveTemplate text={manifest.text} name={manifest.form.name} />
          <Button size="xs" variant="subtle" disabled={manifest.text === beginning} onClick={() => replace(beginning)}>
            {t('wizard.startOver')}
          </Button>
        </Group>
      </Group>
      <SegmentedControl
        aria-label={t('columns.kind')}
        value={kind}
        onChange={choose}
        data={kinds.map((each) => ({ value: each.kind, label: each.kindName }))}
      />
      {replaced !== null && replaced !== manifest.text ? (
        <Kept text={t('wizard.replaced')} back={() => manifest.change(replaced)} />
      ) : (
        left && <Kept text={t('wizard.kept')} back={() => void navigate({ search: left })} />
      )}
    </>
  );
}

/** Nothing that was written is lost: it can be had back. */
function Kept({ text, back }: { readonly text: string; readonly back: () => void }) {
  const { t } = useTranslation();
  return (
    <p className="job-facts" role="status">
      <span>{text}</span>
      <Button size="compact-xs" variant="default" onClick={back}>
        {t('wizard.back')}
      </Button>
    </p>
  );
}
