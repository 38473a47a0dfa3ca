import { useTranslation } from 'react-i18next';
import type { JobFit } from '../api/contract.gen';
import { say } from '../i18n/say';

/** The scheduler then says the same again, about preemption. */
const PREEMPTION = ' preemption: ';

interface Props {
  readonly fit: JobFit;
  /** What the page says already: a message of the scheduler in it is not repeated. */
  readonly said?: string;
}

export function FitText({ fit, said = '' }: Props) {
  const { t } = useTranslation();
  const unsaid = fit.unplaced.filter((each) => !said.includes(each.message.split(PREEMPTION)[0] ?? ''));
  const nodes = fit.nodes.map((each) => `${each.node} (${each.replicas.length})`).join(', ');
  return (
    <>
      <p className={`fit-${fit.verdict}`}>
        {fit.verdict === 'fits' && fit.placed === fit.total && t('fit.fits', { count: fit.total, nodes })}
        {fit.verdict === 'fits' && fit.placed < fit.total && t('fit.fitsPartly', { ...fit, nodes })}
        {fit.verdict === 'preempts' && t('fit.preempts', { pods: fit.preempted.join(', ') })}
        {fit.verdict === 'waits' && t('fit.waits', { placed: fit.placed, total: fit.total })}
      </p>
      {unsaid.map((each) => (
        <p key={each.message} className="quiet wrap">
          {replicaNames(each.replicas)}: {say(each.message)}
        </p>
      ))}
    </>
  );
}

const SHOWN = 4;

function replicaNames(names: readonly string[]): string {
  return names.length <= SHOWN ? names.join(', ') : `${names.slice(0, SHOWN).join(', ')} +${names.length - SHOWN}`;
}
