import { useTranslation } from 'react-i18next';
import type { Capabilities } from '../api/contract.gen';
import { CommandPanel } from './CommandPanel';
import { FitLine } from './FitLine';
import { Passport } from './Passport';
import type { DryRun } from './useDryRun';
import type { Manifest } from './useManifest';

interface Props {
  readonly capabilities: Capabilities;
  readonly manifest: Manifest;
  readonly namespace: string;
  readonly dryRun: DryRun;
}

/** What is known of the job before it exists. */
export function ReviewSection({ capabilities, manifest, namespace, dryRun }: Props) {
  const { t } = useTranslation();
  const accepted = !manifest.broken && dryRun.state === 'accepted';
  return (
    <section className="card review" aria-label={t('wizard.review')}>
      <h2 className="card-title">{t('wizard.review')}</h2>
      <FitLine text={manifest.text} namespace={namespace} enabled={accepted} />
      <Passport text={manifest.text} enabled={accepted} />
      <CommandPanel capabilities={capabilities} text={manifest.text} namespace={manifest.form.namespace} />
    </section>
  );
}
