import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobPassport, Passports } from '../api/contract.gen';
import { asProblem, request } from '../api/http';
import { say } from '../i18n/say';
import { useSettled } from './useSettled';

interface Props {
  readonly text: string;
  readonly enabled: boolean;
}

/** What the operator will give each replica, before the job exists. */
export function Passport({ text, enabled }: Props) {
  const { t } = useTranslation();
  const [opened, setOpened] = useState(false);
  return (
    <details className="data-table" onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>{t('passport.title')}</summary>
      {opened && enabled && <Jobs text={text} />}
      {opened && !enabled && <p className="quiet">{t('fit.afterCheck')}</p>}
    </details>
  );
}

function Jobs({ text }: { readonly text: string }) {
  const { t } = useTranslation();
  const settled = useSettled(text);
  const { data, error } = useQuery({
    queryKey: ['passport', settled],
    queryFn: ({ signal }) =>
      request<Passports>('POST', 'passport', { body: settled, type: 'application/yaml', signal }),
    placeholderData: (before) => before,
    retry: false,
  });
  if (error) return <p className="quiet">{say(asProblem(error).message)}</p>;
  return (
    <>
      <p className="quiet">{t('passport.hint')}</p>
      {data?.jobs.map((job) => (
        <Replicas key={job.name} job={job} />
      ))}
    </>
  );
}

function Replicas({ job }: { readonly job: JobPassport }) {
  const { t } = useTranslation();
  const [chosen, setChosen] = useState('');
  const replica = job.replicas.find((each) => each.replica === chosen) ?? job.replicas[0];
  if (!replica) return null;
  return (
    <>
      <Select
        label={t('columns.replica')}
        searchable
        allowDeselect={false}
        w={240}
        data={job.replicas.map((each) => each.replica)}
        value={replica.replica}
        description={job.total > job.replicas.length ? t('passport.first', { count: job.replicas.length }) : undefined}
        onChange={(value) => setChosen(value ?? '')}
      />
      {replica.env.length === 0 ? (
        <p className="quiet">{t('passport.nothing')}</p>
      ) : (
        <div className="table-box">
          <table className="plain wide" aria-label={t('passport.of', { replica: replica.replica })}>
            <tbody>
              {replica.env.map((variable) => (
                <tr key={variable.name}>
                  <th scope="row">
                    <code>{variable.name}</code>
                  </th>
                  <td className="wrap">
                    <code>{variable.source === '' ? variable.value : variable.source}</code>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
