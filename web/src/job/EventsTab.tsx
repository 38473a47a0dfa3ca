import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Event } from '../api/contract.gen';
import { dateAndTime, since } from '../format/time';
import { WarningIcon } from '../icons';
import { useCurrentJob, useJobNow } from './jobContext';

export function EventsTab() {
  const { t } = useTranslation();
  const { events } = useCurrentJob();
  if (events.length === 0) return <Text c="dimmed">{t('events.none')}</Text>;
  return (
    <div className="table-box">
      <EventTable events={events} />
    </div>
  );
}

export function EventTable({ events }: { readonly events: readonly Event[] }) {
  const { t, i18n } = useTranslation();
  const now = useJobNow();
  const newestFirst = [...events].sort((a, b) => (b.last ?? '').localeCompare(a.last ?? ''));
  return (
    <table className="plain wide">
      <thead>
        <tr>
          <th>{t('events.age')}</th>
          <th>{t('columns.type')}</th>
          <th>{t('columns.reason')}</th>
          <th>{t('columns.object')}</th>
          <th>{t('columns.message')}</th>
        </tr>
      </thead>
      <tbody>
        {newestFirst.map((event) => (
          <tr key={event.uid}>
            <td title={dateAndTime(event.last, i18n.language)} className="nowrap">
              {since(event.last, now)}
              {event.count > 1 && <span className="quiet"> ×{event.count}</span>}
            </td>
            <td>
              {event.type === 'Warning' ? (
                <span className="status warning">
                  <WarningIcon size={14} />
                  <span>{t('events.warning')}</span>
                </span>
              ) : (
                t('events.normal')
              )}
            </td>
            <td>{event.reason}</td>
            <td>{event.replica !== '' ? event.replica : `${event.objectKind}/${event.objectName}`}</td>
            <td className="wrap message">{event.message}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
