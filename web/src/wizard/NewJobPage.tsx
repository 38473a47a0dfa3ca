import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Capabilities, YamlDocument } from '../api/contract.gen';
import { asProblem, request } from '../api/http';
import { ProblemState } from '../shell/ProblemState';
import { useCapabilitiesQuery } from '../shell/useCapabilities';
import { useTitle } from '../shell/useTitle';
import { allTemplates, loadSaved } from '../templates/saved';
import { draftOf, loadDrafts, type Origin, originKey, originOf, sourceOf } from './drafts';
import { edited, parse } from './manifest';
import { DEFAULT_KIND, hasStarter, starterText } from './starters';
import { Wizard } from './Wizard';

const FROM = '/jobs/new';

export function NewJobPage() {
  const { t } = useTranslation();
  useTitle(t('wizard.title'));
  const { data: capabilities, error, refetch } = useCapabilitiesQuery();
  const origin: Origin = useSearch({ from: FROM });
  const { job, template } = sourceOf(origin);
  const copied = useQuery({
    queryKey: ['copy', job],
    queryFn: ({ signal }) => request<YamlDocument>('GET', `jobs/${job}/yaml`, { signal }),
    enabled: job !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [left, setLeft] = useState<Origin | null>(null);
  const waits = job !== undefined && !copied.data && draftOf(loadDrafts(), origin) === null;
  if (copied.error && waits)
    return <ProblemState problem={asProblem(copied.error)} retry={() => void copied.refetch()} />;
  if (error && !capabilities) return <ProblemState problem={asProblem(error)} retry={() => void refetch()} />;
  if (!capabilities || waits) return <Skeleton height={400} m="lg" />;
  const found = allTemplates(capabilities, loadSaved()).find((each) => each.name === template);
  if (template !== undefined && !found) return <p className="page">{t('templates.missing', { name: template })}</p>;
  const beginning = copied.data ? copyOf(copied.data.manifest) : (found?.text ?? starterOf(capabilities, origin.kind));
  return <Started key={originKey(origin)} {...{ capabilities, origin, beginning, left, setLeft }} />;
}

interface StartedProps {
  readonly capabilities: Capabilities;
  readonly origin: Origin;
  readonly beginning: string;
  readonly left: Origin | null;
  readonly setLeft: (origin: Origin) => void;
}

/** The draft is read once for each beginning: what is typed later is the state of the wizard. */
function Started({ capabilities, origin, beginning, left, setLeft }: StartedProps) {
  const [draft] = useState(() => draftOf(loadDrafts(), origin));
  const key = draft?.key ?? (originKey(origin) || `kind=${DEFAULT_KIND}`);
  return (
    <Wizard
      capabilities={capabilities}
      draft={key}
      first={draft?.text ?? beginning}
      beginning={beginning}
      left={left !== null && originKey(left) !== key ? left : null}
      onLeave={() => setLeft(originOf(key))}
    />
  );
}

function starterOf(capabilities: Capabilities, wanted: string | undefined): string {
  const kinds = capabilities.kinds.filter((kind) => kind.installed && hasStarter(kind));
  const kind = kinds.find((each) => each.kind === (wanted ?? DEFAULT_KIND)) ?? kinds[0];
  return kind ? starterText(kind, kind.apiVersions[0] ?? '', capabilities.namespace) : '';
}

/** A copy needs another name. */
function copyOf(text: string): string {
  const name = parse(text).document.getIn(['metadata', 'name']);
  return edited(text, [[['metadata', 'name'], `${String(name).slice(0, 58)}-copy`]]);
}
