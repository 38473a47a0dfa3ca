import { Button, Menu, Select, Switch, TextInput, Tooltip } from '@mantine/core';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { clock } from '../format/time';
import { ChevronIcon, CloseIcon, SearchIcon } from '../icons';
import { useCurrentJob } from '../job/jobContext';
import { toggled, words } from '../jobs/jobFilters';
import { useShortcuts } from '../shell/shortcuts';
import { type ChangeLogSearch, RANK_COLORS } from './LogsTab';
import { LEVELS, type LevelFilter, type LogSearch } from './logSearch';

interface Props {
  readonly search: LogSearch;
  readonly change: ChangeLogSearch;
  readonly follow: boolean;
  readonly setFollow: (follow: boolean) => void;
  readonly toMatch: (step: 1 | -1) => void;
}

const CHIPS = 9;

export function LogToolbar({ search, change, follow, setFollow, toMatch }: Props) {
  const { t, i18n } = useTranslation();
  return (
    <div className="log-toolbar">
      <Replicas search={search} change={change} />
      <Find search={search} change={change} toMatch={toMatch} />
      <Select
        size="xs"
        w={130}
        aria-label={t('logs.level')}
        placeholder={t('logs.level')}
        clearable
        value={search.level ?? null}
        onChange={(value) => change({ level: (value ?? undefined) as LevelFilter | undefined })}
        data={LEVELS.map((level) => ({ value: level, label: t(`levels.${level}`) }))}
      />
      {search.t && (
        <Button
          size="xs"
          variant="light"
          rightSection={<CloseIcon size={12} />}
          onClick={() => change({ t: undefined })}
        >
          {t('logs.from', { time: clock(search.t, i18n.language) })}
        </Button>
      )}
      <span className="grow" />
      <ViewSwitches search={search} change={change} />
      <Switch
        size="xs"
        label={t('logs.follow')}
        checked={follow}
        onChange={(event) => setFollow(event.currentTarget.checked)}
      />
    </div>
  );
}

function Replicas({ search, change }: Pick<Props, 'search' | 'change'>) {
  const { t } = useTranslation();
  const { replicas } = useCurrentJob();
  const chosen = words(search.replica);
  const toggle = (name: string) => change({ replica: toggled(search.replica, name) });
  useShortcuts(replicas.slice(0, CHIPS).map((replica, index) => [String(index + 1), () => toggle(replica.name)]));
  if (replicas.length < 2) return null;
  if (replicas.length > CHIPS)
    return (
      <Menu closeOnItemClick={false}>
        <Menu.Target>
          <Button size="xs" variant={chosen.length > 0 ? 'light' : 'default'} rightSection={<ChevronIcon size={12} />}>
            {chosen.length > 0 ? chosen.join(', ') : t('replicas.all')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah={360} className="scrolls">
          {replicas.map((replica) => (
            <Menu.Item
              key={replica.name}
              role="menuitemcheckbox"
              aria-checked={chosen.includes(replica.name)}
              onClick={() => toggle(replica.name)}
            >
              <span className="menu-check">{chosen.includes(replica.name) ? '✓' : ''}</span> {replica.name}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    );
  return (
    <div className="status-chips" role="group" aria-label={t('logs.replicas')}>
      {replicas.map((replica, index) => (
        <button
          key={replica.name}
          type="button"
          className={`chip rank-${index % RANK_COLORS}`}
          aria-pressed={chosen.includes(replica.name)}
          onClick={() => toggle(replica.name)}
        >
          <span className="rank-dot" aria-hidden="true" />
          {replica.name}
        </button>
      ))}
    </div>
  );
}

const PAUSE = 300;

function Find({ search, change, toMatch }: Pick<Props, 'search' | 'change' | 'toMatch'>) {
  const { t } = useTranslation();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(search.q ?? '');
  const focus = () => {
    input.current?.focus();
    input.current?.select();
  };
  // The browser's own search sees only the lines in view.
  useShortcuts(
    [
      ['/', focus],
      ['mod+F', focus],
    ],
    [],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the pause begins with each character.
  useEffect(() => {
    if (text === (search.q ?? '')) return;
    const timer = window.setTimeout(() => change({ q: text }), PAUSE);
    return () => window.clearTimeout(timer);
  }, [text]);
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Enter') toMatch(event.shiftKey ? -1 : 1);
    else if (event.key === 'Escape') input.current?.blur();
  };
  return (
    <>
      <TextInput
        ref={input}
        size="xs"
        className="search"
        type="search"
        aria-label={t('logs.search')}
        placeholder={t('logs.search')}
        leftSection={<SearchIcon size={13} />}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={press}
      />
      <Tooltip label={t('logs.regexHint')}>
        <button
          type="button"
          className="chip mono"
          aria-pressed={search.regex === '1'}
          aria-label={t('logs.regex')}
          onClick={() => change({ regex: search.regex ? undefined : '1' })}
        >
          {'.*'}
        </button>
      </Tooltip>
      {search.q && (
        <button
          type="button"
          className="chip"
          aria-pressed={search.context !== '1'}
          onClick={() => change({ context: search.context ? undefined : '1' })}
        >
          {t('logs.onlyMatches')}
        </button>
      )}
    </>
  );
}

/** How lines are shown: together, wrapped, of the run before. */
function ViewSwitches({ search, change }: Pick<Props, 'search' | 'change'>) {
  const { t } = useTranslation();
  const { replicas } = useCurrentJob();
  const restarted = replicas.some((replica) => replica.restarts > 0);
  return (
    <>
      <Tooltip label={t('logs.consensusHint')} multiline maw={320}>
        <Switch
          size="xs"
          label={t('logs.consensus')}
          checked={search.mode === 'consensus'}
          onChange={(event) => change({ mode: event.currentTarget.checked ? 'consensus' : undefined })}
        />
      </Tooltip>
      <Switch
        size="xs"
        label={t('logs.wrap')}
        checked={search.wrap === '1'}
        onChange={(event) => change({ wrap: event.currentTarget.checked ? '1' : undefined })}
      />
      {(restarted || search.previous) && (
        <Switch
          size="xs"
          label={t('logs.previous')}
          checked={search.previous === '1'}
          onChange={(event) => change({ previous: event.currentTarget.checked ? '1' : undefined })}
        />
      )}
    </>
  );
}
