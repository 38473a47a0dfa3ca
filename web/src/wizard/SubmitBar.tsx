import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { asProblem } from '../api/http';
import { Sentence } from '../i18n/Sentence';
import { say } from '../i18n/say';
import { ProblemText } from '../shell/ProblemState';
import { rememberImages } from './recentImages';
import { type DryRun, submit } from './useDryRun';
import type { Manifest } from './useManifest';

interface Props {
  readonly manifest: Manifest;
  readonly namespace: string;
  readonly dryRun: DryRun;
  /** Other buttons. */
  readonly children: ReactNode;
}

/** What the API server says, and the button that creates the job. */
export function SubmitBar({ manifest, namespace, dryRun, children }: Props) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [busy, setBusy] = useState(false);
  const create = async () => {
    setBusy(true);
    try {
      const result = await submit(manifest.text, namespace, false);
      manifest.forget();
      rememberImages(manifest.form.roles.map((role) => role.image));
      const job = result.objects.find((each) => each.kind !== '');
      if (job)
        void navigate({
          to: '/jobs/$namespace/$kind/$name',
          params: { namespace: job.namespace, kind: job.kind, name: job.name },
        });
    } catch (error) {
      notifications.show({ color: 'red', message: say(asProblem(error).message) });
    }
    setBusy(false);
  };
  return (
    <footer className="wizard-footer">
      <div className="grow" role="status">
        {manifest.broken ? t('wizard.broken') : t(`wizard.${dryRun.state}`)}
        {dryRun.problem && <ProblemText problem={dryRun.problem} />}
        {dryRun.state === 'accepted' &&
          dryRun.findings.map((each) => (
            <p key={each.path + each.message} className="quiet">
              <Sentence text={each.message} />
            </p>
          ))}
      </div>
      {children}
      <Button onClick={() => void create()} loading={busy} disabled={manifest.broken || dryRun.state !== 'accepted'}>
        {t('wizard.submit')}
      </Button>
    </footer>
  );
}
