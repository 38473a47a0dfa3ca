import { Button, Checkbox, Select } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Holder, JobSummary, Simulation, WhatIf as Wanted } from '../api/contract.gen';
import { asProblem, request } from '../api/http';
import { say } from '../i18n/say';
import { Card } from '../job/Card';
import { jobPath } from '../jobs/actions';
import { NumberField } from '../wizard/NumberField';
import { FitText } from './FitText';

const INTERVAL = 10_000;
const NONE = '-';

function useSimulation(job: JobSummary, wanted: Wanted, enabled: boolean) {
  return useQuery({
    queryKey: ['simulate', jobPath(job), wanted],
    queryFn: ({ signal }) =>
      request<Simulation>('POST', `${jobPath(job)}:simulate`, { body: JSON.stringify(wanted), signal }),
    enabled,
    refetchInterval: INTERVAL,
    placeholderData: keepPreviousData,
    retry: false,
  });
}

/** Why a job waits, asked of the scheduler itself, and what would have to be different. */
export function WhatIf({ job, said }: { readonly job: JobSummary; readonly said: string }) {
  const { t } = useTranslation();
  const [wanted, setWanted] = useState<Wanted>({});
  const isChanged = wanted.workers !== undefined || wanted.priority !== undefined || (wanted.without?.length ?? 0) > 0;
  const now = useSimulation(job, {}, true);
  const then = useSimulation(job, wanted, isChanged);
  if (now.error) return null; // the reason of the job says why it waits
  if (!now.data) return null;
  const change = (part: Partial<Wanted>) => setWanted((before) => ({ ...before, ...part }));
  return (
    <Card title={t('whatIf.title')}>
      <div className="what-if">
        <p className="quiet">{t('whatIf.hint')}</p>
        <FitText fit={now.data.fit} said={said} />
        <Startable simulation={now.data} onTry={(workers) => change({ workers })} />
        <Controls simulation={now.data} wanted={wanted} onChange={change} />
        {isChanged && then.data && (
          <div role="status" aria-label={t('whatIf.changed')}>
            <h3>{t('whatIf.changed')}</h3>
            <FitText fit={then.data.fit} />
          </div>
        )}
        {isChanged && then.error && <p className="quiet">{say(asProblem(then.error).message)}</p>}
        {now.data.estimate && <p className="quiet">{t('fit.estimate')}</p>}
      </div>
    </Card>
  );
}

interface StartableProps {
  readonly simulation: Simulation;
  readonly onTry: (workers: number) => void;
}

function Startable({ simulation, onTry }: StartableProps) {
  const { t } = useTranslation();
  const { fit, workers } = simulation;
  const count = workers?.startable ?? null;
  if (fit.verdict !== 'waits' || count === null || count === workers?.wanted) return null;
  return (
    <p className="job-facts">
      <span>{t('whatIf.startable', { count })}</span>
      <Button size="compact-xs" variant="default" onClick={() => onTry(count)}>
        {t('whatIf.try')}
      </Button>
    </p>
  );
}

interface ControlsProps {
  readonly simulation: Simulation;
  readonly wanted: Wanted;
  readonly onChange: (part: Partial<Wanted>) => void;
}

function Controls({ simulation, wanted, onChange }: ControlsProps) {
  const { t } = useTranslation();
  const { workers, priority, priorityClasses, holders } = simulation;
  const without = wanted.without ?? [];
  const keyOf = (holder: Holder) => `${holder.namespace}/${holder.kind}/${holder.name}`;
  return (
    <div className="form-row">
      {workers && (
        <NumberField
          label={t('whatIf.workers')}
          min={0}
          value={wanted.workers ?? workers.wanted}
          onNumber={(value) => onChange({ workers: value })}
        />
      )}
      <Select
        label={t('whatIf.priority')}
        allowDeselect={false}
        data={[
          { value: NONE, label: t('whatIf.noPriority') },
          ...priorityClasses.map((each) => ({ value: each.name, label: `${each.name} (${each.value})` })),
        ]}
        value={(wanted.priority ?? priority) || NONE}
        onChange={(value) => onChange({ priority: value === NONE ? '' : (value ?? '') })}
      />
      {holders.length > 0 && (
        <fieldset className="entries">
          <legend>{t('whatIf.without')}</legend>
          {holders.map((each) => (
            <Checkbox
              key={keyOf(each)}
              size="xs"
              py={4}
              label={labelOf(t, each)}
              checked={without.includes(keyOf(each))}
              onChange={(event) =>
                onChange({
                  without: event.currentTarget.checked
                    ? [...without, keyOf(each)]
                    : without.filter((other) => other !== keyOf(each)),
                })
              }
            />
          ))}
        </fieldset>
      )}
    </div>
  );
}

function labelOf(t: ReturnType<typeof useTranslation>['t'], holder: Holder): string {
  const requests = Object.entries(holder.requests).map(([name, amount]) => `${amount} ${name}`);
  return t('whatIf.holder', { name: holder.name, pods: holder.pods, requests: requests.join(', ') });
}
