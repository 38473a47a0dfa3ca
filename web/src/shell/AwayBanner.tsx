import { useTranslation } from 'react-i18next';
import { useIsAway, useStreamState } from '../api/topics';
import { since } from '../format/time';
import { useNow } from '../format/useNow';
import { say } from '../i18n/say';
import { WarningIcon } from '../icons';

/** The console or its cluster does not respond. What is shown below is the last known state. */
export function AwayBanner() {
  return useIsAway() ? <Banner /> : null;
}

function Banner() {
  const { t } = useTranslation();
  const { connection, cluster, heard } = useStreamState();
  const now = useNow();
  const consoleLost = connection === 'lost';
  const from = consoleLost ? new Date(heard || now).toISOString() : (cluster?.since ?? null);
  return (
    <div className="away-banner" role="alert">
      <WarningIcon />
      <span>
        <strong>{consoleLost ? t('away.console') : t('away.cluster')}</strong>{' '}
        {t('away.lastState', { age: since(from, now) })}{' '}
        {consoleLost ? t('away.consoleStep') : say(cluster?.message ?? '')}
      </span>
    </div>
  );
}
