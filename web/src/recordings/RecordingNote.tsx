import { useTranslation } from 'react-i18next';
import type { RecordingInfo } from '../api/contract.gen';
import { dateAndTime } from '../format/time';
import { useSay } from '../i18n/say';
import { WarningIcon } from '../icons';

/** The page shows a file: what it has, and what it does not have. */
export function RecordingNote({ recording }: { readonly recording: RecordingInfo }) {
  const { t, i18n } = useTranslation();
  const say = useSay();
  return (
    <div className="note warning" role="status">
      <WarningIcon />
      <div>
        {t('recordings.note', { time: dateAndTime(recording.exported, i18n.language), version: recording.version })}
        {recording.server !== '' && ` ${t('recordings.from', { server: recording.server })}`}
        {recording.missing.length > 0 && (
          <details>
            <summary>{t('recordings.missing', { count: recording.missing.length })}</summary>
            <ul>
              {recording.missing.map((text) => (
                <li key={text}>{say(text)}</li>
              ))}
            </ul>
          </details>
        )}
      </div>
    </div>
  );
}
