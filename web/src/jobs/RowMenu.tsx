import { Menu } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { TFunction } from 'i18next';
import { useRef } from 'react';
import type { JobSummary } from '../api/contract.gen';
import { MoreIcon } from '../icons';
import { isUseful } from './actions';
import type { ListAction } from './ConfirmAction';
import type { RowActions } from './JobRow';

const ACTIONS = ['suspend', 'resume', 'rerun', 'delete'] as const;
const JOB = '/jobs/$namespace/$kind/$name';

interface Props {
  readonly job: JobSummary;
  readonly id: string;
  readonly opened: boolean;
  readonly actions: RowActions;
  readonly t: TFunction;
}

/** What can be done with one job of the list. Only the menu that is open exists: a menu costs more than the rest of its row. */
export function RowMenu({ job, id, opened, actions, t }: Props) {
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    actions.setMenu(null);
    button.current?.focus({ preventScroll: true });
  };
  return (
    <>
      <button
        type="button"
        ref={button}
        className="row-menu"
        aria-haspopup="menu"
        aria-expanded={opened}
        aria-label={t('jobs.menu', { name: job.name })}
        onClick={() => actions.setMenu(id)}
      >
        <MoreIcon />
      </button>
      {opened && (
        <Menu opened onChange={close} position="bottom-end" withinPortal returnFocus={false}>
          <Menu.Target>
            {/* Over the button: a click there is not one beside the menu, and closes it. */}
            <span className="row-menu-anchor" aria-hidden="true" />
          </Menu.Target>
          <Items job={job} ask={actions.ask} t={t} />
        </Menu>
      )}
    </>
  );
}

interface ItemsProps {
  readonly job: JobSummary;
  readonly ask: (action: ListAction, job: JobSummary) => void;
  readonly t: TFunction;
}

function Items({ job, ask, t }: ItemsProps) {
  const navigate = useNavigate();
  const { namespace, kind, name } = job;
  const params = { namespace, kind, name };
  return (
    <Menu.Dropdown aria-label={t('jobs.menu', { name })}>
      <Menu.Item onClick={() => void navigate({ to: JOB, params })}>{t('jobs.open')}</Menu.Item>
      <Menu.Item onClick={() => void navigate({ to: `${JOB}/logs`, params })}>{t('tabs.logs')}</Menu.Item>
      <Menu.Item onClick={() => void navigate({ to: '/jobs/new', search: { from: `${namespace}/${kind}/${name}` } })}>
        {t('wizard.copy')}
      </Menu.Item>
      <Menu.Divider />
      {ACTIONS.filter((action) => isUseful(action, job)).map((action) => (
        <Menu.Item key={action} {...(action === 'delete' ? { color: 'red' } : {})} onClick={() => ask(action, job)}>
          {t(`actions.${action}`)}
        </Menu.Item>
      ))}
    </Menu.Dropdown>
  );
}
