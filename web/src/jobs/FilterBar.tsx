import { ActionIcon, Button, Checkbox, Menu, TextInput, Tooltip } from '@mantine/core';
import { useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobList, JobSummary } from '../api/contract.gen';
import { ChevronIcon, CloseIcon, ColumnsIcon, SearchIcon } from '../icons';
import { useShortcuts } from '../shell/shortcuts';
import type { ChangeSearch } from './JobsPage';
import {
  COLUMNS,
  columnsOf,
  DEFAULT_COLUMNS,
  hasFilters,
  type JobSearch,
  STALLED,
  STATUSES,
  type StatusFilter,
  toggled,
  words,
} from './jobFilters';
import { StatusWord } from './StatusBadge';

interface Props {
  readonly list: JobList;
  readonly counts: ReadonlyMap<StatusFilter, number>;
  readonly search: JobSearch;
  readonly change: ChangeSearch;
}

const SINCE = ['1h', '1d', '7d', '30d'] as const;

export function FilterBar({ list, counts, search, change }: Props) {
  const { t } = useTranslation();
  const values = useMemo(() => valuesOf(list.jobs), [list.jobs]);
  return (
    <div className="filters">
      <SearchField search={search} change={change} />
      {CHOICES.map((name) => (
        <Choice key={name} name={name} values={values[name]} search={search} change={change} />
      ))}
      <Since search={search} change={change} />
      {hasFilters(search) && (
        <Button
          size="xs"
          variant="subtle"
          leftSection={<CloseIcon size={12} />}
          onClick={() =>
            change({
              q: undefined,
              status: undefined,
              kind: undefined,
              ns: undefined,
              queue: undefined,
              owner: undefined,
              label: undefined,
              since: undefined,
            })
          }
        >
          {t('jobs.clear')}
        </Button>
      )}
      <span className="grow" />
      <Checkbox
        size="xs"
        label={t('jobs.showDeleted')}
        checked={search.deleted === '1'}
        onChange={(event) => change({ deleted: event.currentTarget.checked ? '1' : undefined })}
      />
      <Columns search={search} change={change} />
      <StatusChips counts={counts} search={search} change={change} />
    </div>
  );
}

/** While it has the focus, it shows what is typed: the address follows a moment later. */
function SearchField({ search, change }: Pick<Props, 'search' | 'change'>) {
  const { t } = useTranslation();
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState<string | null>(null);
  useShortcuts([['/', () => input.current?.focus()]]);
  const type = (text: string) => {
    setTyped(text);
    change({ q: text });
  };
  return (
    <TextInput
      ref={input}
      className="search"
      size="xs"
      type="search"
      aria-label={t('jobs.search')}
      placeholder={t('jobs.search')}
      leftSection={<SearchIcon size={14} />}
      value={typed ?? search.q ?? ''}
      onChange={(event) => type(event.currentTarget.value)}
      onBlur={() => setTyped(null)}
      onKeyDown={(event) => event.key === 'Escape' && input.current?.blur()}
    />
  );
}

const CHOICES = ['kind', 'ns', 'queue', 'owner', 'label'] as const;
type ChoiceName = (typeof CHOICES)[number];
const MOST_LABELS = 40;

/** What can be chosen: the values that occur. */
function valuesOf(jobs: readonly JobSummary[]): Record<ChoiceName, readonly string[]> {
  const among = (field: (job: JobSummary) => string) =>
    [...new Set(jobs.map(field))].filter((each) => each !== '').sort();
  return {
    kind: among((job) => job.kind),
    ns: among((job) => job.namespace),
    queue: among((job) => job.queue),
    owner: among((job) => job.owner),
    label: labelsOf(jobs),
  };
}

function labelsOf(jobs: readonly JobSummary[]): string[] {
  const found = new Set<string>();
  for (const { labels } of jobs) for (const key in labels) found.add(`${key}=${labels[key]}`);
  return [...found].sort().slice(0, MOST_LABELS);
}

function StatusChips({ counts, search, change }: Omit<Props, 'list'>) {
  const { t } = useTranslation();
  const chosen = words(search.status);
  const shown = [...STATUSES, STALLED].filter(
    (each) => (counts.get(each as StatusFilter) ?? 0) > 0 || chosen.includes(each),
  );
  return (
    <div className="status-chips" role="group" aria-label={t('jobs.byStatus')}>
      {(shown as StatusFilter[]).map((status) => (
        <button
          key={status}
          type="button"
          className="chip"
          aria-pressed={chosen.includes(status)}
          onClick={() => change({ status: toggled(search.status, status) })}
        >
          <StatusWord status={status} />
          <span className="count">{counts.get(status) ?? 0}</span>
        </button>
      ))}
    </div>
  );
}

interface ChoiceProps {
  readonly name: ChoiceName;
  readonly values: readonly string[];
  readonly search: JobSearch;
  readonly change: ChangeSearch;
}

function Choice({ name, values, search, change }: ChoiceProps) {
  const { t } = useTranslation();
  const chosen = words(search[name]);
  if (values.length < 2 && chosen.length === 0) return null;
  return (
    <Menu closeOnItemClick={false}>
      <Menu.Target>
        <Button size="xs" variant={chosen.length > 0 ? 'light' : 'default'} rightSection={<ChevronIcon size={12} />}>
          {chosen.length > 0 ? `${t(`filters.${name}`)}: ${chosen.join(', ')}` : t(`filters.${name}`)}
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah={360} className="scrolls">
        {[...new Set([...values, ...chosen])].map((value) => (
          <Menu.Item
            key={value}
            onClick={() => change({ [name]: toggled(search[name], value) })}
            role="menuitemcheckbox"
            aria-checked={chosen.includes(value)}
          >
            <span className="menu-check">{chosen.includes(value) ? '✓' : ''}</span> {value}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function Since({ search, change }: Pick<Props, 'search' | 'change'>) {
  const { t } = useTranslation();
  return (
    <Menu>
      <Menu.Target>
        <Button size="xs" variant={search.since ? 'light' : 'default'} rightSection={<ChevronIcon size={12} />}>
          {search.since ? t('filters.within', { time: search.since }) : t('filters.since')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => change({ since: undefined })}>{t('filters.any')}</Menu.Item>
        {SINCE.map((time) => (
          <Menu.Item key={time} onClick={() => change({ since: time })}>
            {t('filters.within', { time })}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function Columns({ search, change }: Pick<Props, 'search' | 'change'>) {
  const { t } = useTranslation();
  const shown = columnsOf(search);
  const toggle = (column: string) => {
    const after = words(toggled(shown.join(','), column));
    const same = after.length === DEFAULT_COLUMNS.length && DEFAULT_COLUMNS.every((each) => after.includes(each));
    change({ cols: same ? undefined : after.join(',') });
  };
  return (
    <Menu closeOnItemClick={false} position="bottom-end">
      <Tooltip label={t('jobs.columns')}>
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label={t('jobs.columns')}>
            <ColumnsIcon />
          </ActionIcon>
        </Menu.Target>
      </Tooltip>
      <Menu.Dropdown>
        {COLUMNS.filter((column) => column !== 'name').map((column) => (
          <Menu.Item
            key={column}
            onClick={() => toggle(column)}
            role="menuitemcheckbox"
            aria-checked={shown.includes(column)}
          >
            <Checkbox.Indicator size="xs" checked={shown.includes(column)} mr="xs" component="span" />
            {t(`columns.${column}`)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
