import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../api/contract.gen';
import { asProblem } from '../api/http';
import { clock, dateAndTime } from '../format/time';
import { useSay } from '../i18n/say';
import { Card } from './Card';
import { changesOf } from './conditions';
import { isBy } from './jobAt';
import { useMoment } from './jobContext';
import { useConditionChanges } from './useConditionChanges';

/** When the conditions of the job changed. Without a recorder, the present ones. */
export function ConditionsCard({ job }: { readonly job: JobDetail }) {
  const { t, i18n } = useTranslation();
  const say = useSay();
  const moment = useMoment();
  const { data, error } = useConditionChanges(job);
  const recorded = (data?.changes ?? []).filter((each) => moment === null || isBy(each.time, moment));
  const changes = changesOf(recorded, job.conditions);
  if (changes.length === 0) return null;
  return (
    <Card title={error ? t('conditions.present') : t('conditions.title')}>
      <div className="table-box conditions">
        <table className="plain wide">
          <thead>
            <tr>
              {(['time', 'condition', 'reason', 'message'] as const).map((name) => (
                <th key={name} scope="col">
                  {t(`conditions.${name}`)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {changes.map((each) => (
              <tr key={`${each.time}/${each.type}/${each.status}/${each.reason}`}>
                <td className="nowrap" title={dateAndTime(each.time, i18n.language)}>
                  {clock(each.time, i18n.language)}
                </td>
                <td className={each.status === 'True' ? undefined : 'quiet'}>
                  {each.status === 'True' ? each.type : `${each.type}: ${each.status}`}
                </td>
                <td>{each.reason}</td>
                <td className="wrap">{say(each.message)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {error && <p className="quiet">{t('conditions.noRecord', { reason: say(asProblem(error).message) })}</p>}
    </Card>
  );
}
