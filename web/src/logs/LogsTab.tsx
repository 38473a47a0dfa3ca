import { Text } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useDeferredValue, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { LogLine } from '../api/contract.gen';
import { linesAt } from '../job/jobAt';
import { useCurrentJob, useJobAddress, useMoment } from '../job/jobContext';
import { isRecorded } from '../jobs/recorded';
import { ProblemState } from '../shell/ProblemState';
import { useShortcuts } from '../shell/shortcuts';
import { consensus } from './consensus';
import { LogFooter } from './LogFooter';
import { LogList } from './LogList';
import { LogToolbar } from './LogToolbar';
import { type LogSearch, lineFragment, lineOfFragment, logQuery, matcherOf, ofRecord } from './logSearch';
import { type Logs, useLogs } from './useLogs';
import { usePreviousLogs } from './usePreviousLogs';
import { useLineOfMoment, useLinkedLine } from './useShownLine';
import { WrappedList } from './WrappedList';

const FROM = '/jobs/$namespace/$kind/$name/logs';
export const RANK_COLORS = 8;
export type ChangeLogSearch = (part: { [K in keyof LogSearch]: LogSearch[K] | undefined }) => void;

export function LogsTab() {
  const { namespace, kind, name } = useJobAddress();
  const address = useSearch({ from: FROM });
  const search = isRecorded(name) ? ofRecord(address) : address;
  const navigate = useNavigate({ from: FROM });
  const live = useLogs(search.previous ? null : `logs:${namespace}/${kind}/${name}?${logQuery(search)}`);
  const previous = usePreviousLogs({ namespace, kind, name }, search);
  const feed = search.previous ? previous : live;
  const change: ChangeLogSearch = (part) =>
    void navigate({ search: (before) => withoutUndefined({ ...before, ...part }), replace: true });
  /** The page of a record has all lines until its moment. */
  const showOlder = (time: string) => {
    if (!isRecorded(name)) change({ t: time });
    else if (!search.all) change({ all: '1' });
  };
  return <LogView feed={feed} search={search} change={change} showOlder={showOlder} />;
}

function withoutUndefined(search: { [K in keyof LogSearch]: LogSearch[K] | undefined }): LogSearch {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined && value !== ''));
}

interface ViewProps {
  readonly feed: Logs;
  readonly search: LogSearch;
  readonly change: ChangeLogSearch;
  readonly showOlder: (time: string) => void;
}

function LogView({ feed, search, change, showOlder }: ViewProps) {
  const { t } = useTranslation();
  const { replicas } = useCurrentJob();
  const linked = useRef(lineOfFragment(window.location.hash));
  const shownMoment = useRef(linked.current === null ? undefined : search.t);
  const [follow, setFollow] = useState(linked.current === null && search.t === undefined);
  const [chosen, setChosen] = useState<readonly [number, number] | null>(null);
  const [target, setTarget] = useState<{ index: number } | null>(null);
  const moment = useMoment();
  const compared = search.mode === 'consensus';
  const version = feed.window.lines.length + feed.window.dropped;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the window changes in place; its size says that it did.
  const received = useMemo(() => linesOf(feed, moment), [feed, moment, version]);
  // While lines come fast, they are compared when the page has nothing else to do.
  const comparable = useDeferredValue(version);
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  const folded = useMemo(() => (compared ? consensus(received) : []), [compared, received, comparable]);
  const lines: readonly LogLine[] = compared ? folded : received;
  const matcher = useMemo(() => matcherOf(search), [search]);
  const colors = useMemo(
    () => new Map(replicas.map((replica, index) => [replica.name, index % RANK_COLORS])),
    [replicas],
  );

  const showAt = (index: number) => {
    setFollow(false);
    setTarget({ index });
  };
  const showLast = () => {
    setTarget(null);
    setChosen(null);
    setFollow(true);
    change({ t: undefined });
  };
  useLineOfMoment(feed, search.t, shownMoment, showAt);
  useLinkedLine(feed, linked, search, showOlder, (index) => {
    setChosen([index, index]);
    showAt(index);
  });

  /** from: where the selection begins. */
  const choose = (index: number, from = index) => {
    const line = lines[index];
    if (!line) return;
    setFollow(false);
    setChosen([from, index]);
    // The whole address: a fragment alone would be relative to <base href>.
    const { pathname, search: query } = window.location;
    window.history.replaceState(window.history.state, '', `${pathname}${query}#${lineFragment(line)}`);
  };
  const jump = (test: (index: number) => boolean, step: 1 | -1 = 1) => {
    const start = chosen ? chosen[1] : step === 1 ? -1 : lines.length;
    for (let index = start + step; index >= 0 && index < lines.length; index += step)
      if (test(index)) {
        choose(index);
        setTarget({ index });
        return;
      }
  };
  useShortcuts([
    ['f', () => setFollow(!follow)],
    ['e', () => jump((index) => lines[index]?.level === 'error')],
  ]);
  const toMatch = (step: 1 | -1) =>
    jump((index) => matcher !== null && (lines[index]?.text.search(matcher) ?? -1) >= 0, step);

  const List = search.wrap ? WrappedList : LogList;
  if (feed.error && lines.length === 0) return <ProblemState problem={feed.error} />;
  return (
    <div className="logs">
      <LogToolbar search={search} change={change} follow={follow} setFollow={setFollow} toMatch={toMatch} />
      {lines.length === 0 ? (
        <div className="log-box empty">
          <Text c="dimmed">
            {feed.loaded
              ? search.q
                ? t('logs.noMatch')
                : search.previous
                  ? t('logs.noPrevious')
                  : t('logs.none')
              : t('logs.loading')}
          </Text>
        </div>
      ) : (
        <List
          lines={lines}
          dropped={compared ? 0 : feed.window.dropped}
          follow={follow}
          setFollow={setFollow}
          colorOf={(replica) => colors.get(replica) ?? 0}
          chosen={chosen}
          onChoose={(index, extend) => choose(index, extend && chosen ? chosen[0] : index)}
          onKeyChoose={(index, from = index) => choose(index, chosen?.[1] === from ? chosen[0] : from)}
          matcher={matcher}
          target={target}
        />
      )}
      <LogFooter feed={feed} search={search} change={change} chosen={chosen} showLast={showLast} />
    </div>
  );
}

/** The list itself where it is whole: a copy of a million lines would cost too much. */
function linesOf(feed: Logs, moment: number | null): readonly LogLine[] {
  const { lines } = feed.window;
  return moment === null ? lines : lines.slice(0, linesAt(lines, moment));
}
