import { Alert, Button, Group, SegmentedControl, Skeleton } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Capabilities, KindInfo, YamlDocument } from '../api/contract.gen';
import { asProblem, request } from '../api/http';
import { ProblemState, ProblemText } from '../shell/ProblemState';
import { useCapabilities } from '../shell/useCapabilities';
import { useTitle } from '../shell/useTitle';
import { JobForm } from './JobForm';
import { ManifestEditor, type Mark } from './ManifestEditor';
import { edited, parse, project } from './manifest';
import type { Edit } from './RoleFields';
import { DEFAULT_KIND, hasStarter, starterText } from './starters';
import { submit, useDryRun } from './useDryRun';

const FROM = '/jobs/new';
const DRAFT = 'traincrew.draft';

export function NewJobPage() {
  const { t } = useTranslation();
  useTitle(t('wizard.title'));
  const capabilities = useCapabilities();
  const { from } = useSearch({ from: FROM });
  const copied = useQuery({
    queryKey: ['copy', from],
    queryFn: ({ signal }) => request<YamlDocument>('GET', `jobs/${from}/yaml`, { signal }),
    enabled: from !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (copied.error) return <ProblemState problem={asProblem(copied.error)} />;
  if (!capabilities || (from !== undefined && !copied.data)) return <Skeleton height={400} m="lg" />;
  const copy = copied.data && copyOf(copied.data.submitted);
  return <Wizard key={from ?? ''} capabilities={capabilities} copy={copy} />;
}

/** A copy needs another name. */
function copyOf(text: string): string {
  const name = parse(text).document.getIn(['metadata', 'name']);
  return edited(text, [[['metadata', 'name'], `${String(name).slice(0, 58)}-copy`]]);
}

interface WizardProps {
  readonly capabilities: Capabilities;
  readonly copy: string | undefined;
}

function Wizard({ capabilities, copy }: WizardProps) {
  const { t } = useTranslation();
  const navigate = useNavigate({ from: FROM });
  const search = useSearch({ from: FROM });
  const kinds = capabilities.kinds.filter((kind) => kind.installed && hasStarter(kind));
  const wanted = kinds.find((kind) => kind.kind === (search.kind ?? DEFAULT_KIND)) ?? kinds[0];
  const start = (kind: KindInfo) => starterText(kind, kind.apiVersions[0] ?? '', capabilities.namespace);
  const [text, setText] = useState(() => copy ?? localStorage.getItem(DRAFT) ?? (wanted ? start(wanted) : ''));
  const parsed = useMemo(() => parse(text), [text]);
  const broken = parsed.problems.length > 0;
  const [form, setForm] = useState(() => project(parsed.document, kinds));
  const kind = kinds.find((each) => each.kindName === form.kindName);
  const dryRun = useDryRun(text, form.namespace || capabilities.namespace, !broken);
  const [busy, setBusy] = useState(false);

  const change = (next: string) => {
    setText(next);
    localStorage.setItem(DRAFT, next);
    const { document, problems } = parse(next);
    // Broken text freezes the form and never empties it.
    if (problems.length === 0) setForm(project(document, kinds));
  };
  const edit: Edit = (...changes) => {
    try {
      change(edited(text, changes));
    } catch (error) {
      notifications.show({ color: 'red', message: `${t('wizard.editInYaml')} ${String(error)}` });
    }
  };
  const choose = (name: string) => {
    const chosen = kinds.find((each) => each.kind === name);
    if (!chosen) return;
    void navigate({ search: { kind: name }, replace: true });
    change(start(chosen));
  };
  const create = async () => {
    setBusy(true);
    try {
      const result = await submit(text, form.namespace || capabilities.namespace, false);
      localStorage.removeItem(DRAFT);
      const job = result.objects.find((each) => each.kind !== '');
      if (job)
        void navigate({
          to: '/jobs/$namespace/$kind/$name',
          params: { namespace: job.namespace, kind: job.kind, name: job.name },
        });
    } catch (error) {
      notifications.show({ color: 'red', message: asProblem(error).message });
    }
    setBusy(false);
  };
  const marks = useMemo<Mark[]>(
    () => [
      ...parsed.problems.map((problem) => ({ ...problem, level: 'error' as const })),
      ...dryRun.findings.map(({ line, message, path, level }) => ({
        line,
        level,
        message: path ? `${path}: ${message}` : message,
      })),
    ],
    [parsed, dryRun.findings],
  );
  return (
    <div className="page wizard">
      <Group justify="space-between">
        <h1 className="page-title">{t('wizard.title')}</h1>
        <Button size="xs" variant="subtle" onClick={() => kind && change(start(kind))}>
          {t('wizard.startOver')}
        </Button>
      </Group>
      <SegmentedControl
        aria-label={t('columns.kind')}
        value={kind?.kind ?? ''}
        onChange={choose}
        data={kinds.map((each) => ({ value: each.kind, label: each.kindName }))}
      />
      <div className="wizard-columns">
        <section className="card" aria-label={t('wizard.form')}>
          {broken && (
            <Alert color="red" mb="sm" title={t('wizard.broken')}>
              {t('problem.line', { line: parsed.problems[0]?.line ?? 0 })}: {parsed.problems[0]?.message}
            </Alert>
          )}
          {kind ? (
            <JobForm
              form={form}
              kind={kind}
              capabilities={capabilities}
              disabled={broken}
              findings={dryRun.findings}
              edit={edit}
            />
          ) : (
            <Alert color="yellow">{t('wizard.unknownKind', { kind: form.kindName })}</Alert>
          )}
        </section>
        <section aria-label={t('tabs.yaml')}>
          <ManifestEditor text={text} label={t('tabs.yaml')} marks={marks} onChange={change} />
        </section>
      </div>
      <footer className="wizard-footer">
        <div className="grow" role="status">
          {broken ? t('wizard.broken') : t(`wizard.${dryRun.state}`)}
          {dryRun.problem && <ProblemText problem={dryRun.problem} />}
          {dryRun.state === 'accepted' &&
            dryRun.findings.map((each) => (
              <p key={each.path + each.message} className="quiet">
                {each.message}
              </p>
            ))}
        </div>
        <Button onClick={() => void create()} loading={busy} disabled={broken || dryRun.state !== 'accepted'}>
          {t('wizard.submit')}
        </Button>
      </footer>
    </div>
  );
}
