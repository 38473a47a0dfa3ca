import { Link, useMatchRoute } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useObjection } from '../cluster/useCluster';
import { JobsIcon, NodesIcon, PlusIcon, QueueIcon, RecordingIcon, TemplateIcon } from '../icons';
import { useCapabilities } from './useCapabilities';

const PAGES = [
  { to: '/jobs', label: 'jobs.title', Icon: JobsIcon },
  { to: '/jobs/new', label: 'wizard.title', Icon: PlusIcon },
  { to: '/templates', label: 'templates.title', Icon: TemplateIcon },
  { to: '/nodes', label: 'nodes.title', Icon: NodesIcon },
  { to: '/queues', label: 'queues.title', Icon: QueueIcon },
  { to: '/recordings', label: 'recordings.title', Icon: RecordingIcon },
] as const;

/** The pages of the console. The page of a job belongs to the list of jobs. */
export function Rail() {
  const { t } = useTranslation();
  const matches = useMatchRoute();
  const noCluster = useCapabilities()?.mode === 'recording';
  const pages = noCluster ? PAGES.filter((page) => page.to === '/recordings') : PAGES;
  const fits = pages.filter((page) => matches({ to: page.to, fuzzy: true }) !== false);
  const current = fits.sort((a, b) => b.to.length - a.to.length)[0];
  return (
    <nav className="rail" aria-label={t('frame.navigation')}>
      {pages.map((page) => (
        <RailLink key={page.to} page={page} current={page === current} />
      ))}
    </nav>
  );
}

interface LinkProps {
  readonly page: (typeof PAGES)[number];
  readonly current: boolean;
}

/** A page without anything to show is still a page: it says why. */
function RailLink({ page, current }: LinkProps) {
  const { t } = useTranslation();
  const nodes = useObjection('nodes');
  const queues = useObjection('queues');
  const reason = page.to === '/nodes' ? nodes : page.to === '/queues' ? queues : '';
  return (
    <Link
      to={page.to}
      className={`rail-link${current ? ' current' : ''}${reason === '' ? '' : ' absent'}`}
      aria-current={current ? 'page' : undefined}
      title={reason === '' ? undefined : t('frame.absent', { reason })}
    >
      <page.Icon />
      <span>{t(page.label)}</span>
    </Link>
  );
}
