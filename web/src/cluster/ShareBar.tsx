import { useTranslation } from 'react-i18next';
import type { Share } from './shares';

/** Used and asked for, of all: as text, and as two bars on one line. */
export function ShareBar({ share }: { readonly share: Share }) {
  const { t } = useTranslation();
  const width = (part: number | null) => `${Math.round((part ?? 0) * 100)}%`;
  return (
    <div className="share">
      <span className="share-bar" aria-hidden="true">
        <span className="share-asked" style={{ width: width(share.askedPart) }} />
        <span className="share-used" style={{ width: width(share.usedPart) }} />
      </span>
      <span className="share-text">
        {share.used !== '' && <span>{t('share.used', { amount: share.used })}</span>}
        <span>
          {share.total === ''
            ? t('share.asked', { amount: share.asked || '0' })
            : t('share.askedOf', { amount: share.asked || '0', total: share.total })}
        </span>
      </span>
    </div>
  );
}
