import { Button, Center, Code, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { Navigate, useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useDeferredValue, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobList } from '../api/contract.gen';
import { jobId } from '../api/patches';
import { useIsAway, useJobs } from '../api/topics';
import { Sentence } from '../i18n/Sentence';
import { say } from '../i18n/say';
import { PlusIcon, WarningIcon } from '../icons';
import { OpenRecording } from '../recordings/OpenRecording';
import { ButtonLink } from '../shell/ButtonLink';
import { ProblemState } from '../shell/ProblemState';
import { useCapabilities } from '../shell/useCapabilities';
import { useTitle } from '../shell/useTitle';
import { BulkActions } from './BulkActions';
import { FilterBar } from './FilterBar';
import { JobTable } from './JobTable';
import { hasFilters, type JobSearch, select } from './jobFilters';
import { useDeletedJobs } from './recorded';

/** A console that shows recordings has no jobs. */
export function JobsPage() {
  const capabilities = useCapabilities();
  return capabilities?.mode === 'recording' ? <Navigate to="/recordings" replace /> : <ClusterJobs />;
}

function ClusterJobs() {
  const { t } = useTranslation();
  useTitle(t('jobs.title'));
  const { data, error } = useJobs();
  const away = useIsAway();
  return (
    <div className={`page jobs-page${away ? ' stale' : ''}`}>
      <div className="page-head">
        <Title order={1} className="page-title">
          {t('jobs.title')}
        </Title>
        <Group gap="xs">
          <OpenRecording />
          <ButtonLink to="/jobs/new" size="xs" leftSection={<PlusIcon size={13} />}>
            {t('wizard.title')}
          </ButtonLink>
        </Group>
      </div>
      {data === null ? error ? <ProblemState problem={error} /> : <Waiting /> : <Jobs list={data} />}
    </div>
  );
}

function Waiting() {
  return (
    <Stack gap="xs" aria-busy="true">
      {['a', 'b', 'c', 'd', 'e', 'f'].map((key) => (
        <Skeleton key={key} height={44} />
      ))}
    </Stack>
  );
}

export type ChangeSearch = (part: { [K in keyof JobSearch]: JobSearch[K] | undefined }) => void;

function Jobs({ list }: { readonly list: JobList }) {
  const { t } = useTranslation();
  const search = useSearch({ from: '/jobs' });
  const navigate = useNavigate({ from: '/jobs' });
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const deferred = useDeferredValue(search);
  const deleted = useDeletedJobs(search.deleted === '1');
  const latest = useMemo(
    () => (deleted.jobs.length === 0 ? list : { ...list, jobs: [...list.jobs, ...deleted.jobs] }),
    [list, deleted.jobs],
  );
  // Thousands of jobs are sorted when the page is idle: scrolling and typing come first.
  const all = useDeferredValue(latest);
  const selected = useMemo(() => select(all.jobs, deferred, Date.now()), [all.jobs, deferred]);
  const markedJobs = useMemo(
    () => (marked.size === 0 ? [] : list.jobs.filter((job) => marked.has(jobId(job)))),
    [list.jobs, marked],
  );
  const change = useCallback<ChangeSearch>(
    (part) => void navigate({ search: (before) => withoutUndefined({ ...before, ...part }), replace: true }),
    [navigate],
  );

  if (all.jobs.length === 0 && list.unreadable.length === 0 && search.deleted === undefined)
    return <NoJobs showDeleted={() => change({ deleted: '1' })} />;
  return (
    <>
      <FilterBar list={all} counts={selected.counts} search={search} change={change} />
      {list.unreadable.map((each) => (
        <div className="note warning" key={`${each.kind}/${each.namespace}`}>
          <WarningIcon />
          <span>
            {t('jobs.unreadable', { kind: each.kind })} <Sentence text={each.message} />
          </span>
        </div>
      ))}
      {(deleted.error || deleted.truncated) && (
        <div className="note warning" role="status">
          <WarningIcon />
          <span>
            {deleted.error ? `${t('jobs.deletedUnknown')} ${say(deleted.error.message)}` : t('jobs.deletedMore')}
          </span>
        </div>
      )}
      {selected.jobs.length === 0 ? (
        <NoMatch clear={() => void navigate({ search: {} })} />
      ) : (
        <JobTable jobs={selected.jobs} search={search} change={change} marked={marked} setMarked={setMarked} />
      )}
      <footer className="list-footer">
        {selected.jobs.length > 0 && (
          <BulkActions
            jobs={markedJobs}
            clear={() => setMarked(new Set())}
            unmark={(done) => setMarked((before) => without(before, done.map(jobId)))}
          />
        )}
        <span className="grow" />
        <span className="quiet nowrap" role="status">
          {hasFilters(search)
            ? t('jobs.shown', { shown: selected.jobs.length, count: all.jobs.length })
            : t('jobs.total', { count: all.jobs.length })}
        </span>
      </footer>
    </>
  );
}

function without(marked: ReadonlySet<string>, ids: readonly string[]): ReadonlySet<string> {
  return new Set([...marked].filter((id) => !ids.includes(id)));
}

function withoutUndefined(search: { [K in keyof JobSearch]: JobSearch[K] | undefined }): JobSearch {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined && value !== ''));
}

function NoJobs({ showDeleted }: { readonly showDeleted: () => void }) {
  const { t } = useTranslation();
  return (
    <Center mih={360}>
      <Stack align="center" gap="sm" maw={620}>
        <Title order={2} size="h4">
          {t('jobs.none')}
        </Title>
        <Text c="dimmed" ta="center">
          {t('jobs.noneStep')}
        </Text>
        <Code block>{'traincrew run --kind PyTorchJob --workers 2 -- python train.py'}</Code>
        <Code block>{'kubectl create -f examples/pytorch-minimal.yaml'}</Code>
        <Button variant="default" onClick={showDeleted}>
          {t('jobs.showDeleted')}
        </Button>
      </Stack>
    </Center>
  );
}

function NoMatch({ clear }: { readonly clear: () => void }) {
  const { t } = useTranslation();
  return (
    <Center mih={240}>
      <Stack align="center" gap="sm">
        <Text>{t('jobs.noMatch')}</Text>
        <Button variant="default" onClick={clear}>
          {t('jobs.clear')}
        </Button>
      </Stack>
    </Center>
  );
}
