import { ActionIcon, Menu, Text, Tooltip } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useTranslation } from 'react-i18next';
import { asProblem, currentSession, request } from '../api/http';
import { say } from '../i18n/say';
import { UserIcon } from '../icons';
import { useCapabilities } from './useCapabilities';

async function signOut(): Promise<void> {
  try {
    await request('DELETE', 'session');
    // The next request tells the page that the session has ended.
    await request('GET', 'session');
  } catch (error) {
    const problem = asProblem(error);
    if (problem.reason !== 'SignInRequired') notifications.show({ color: 'red', message: say(problem.message) });
  }
}

/** Who the user is, as the API server says, and the way out. */
export function UserMenu() {
  const { t } = useTranslation();
  const capabilities = useCapabilities();
  const session = currentSession();
  const name = session?.user || capabilities?.user || '';
  const label = name === '' ? t('user.menu') : t('user.named', { name });
  return (
    <Menu position="bottom-end">
      <Tooltip label={label}>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={label}>
            <UserIcon />
          </ActionIcon>
        </Menu.Target>
      </Tooltip>
      <Menu.Dropdown maw={360}>
        <div className="user-info">
          <Text size="sm" fw={600} className="wrap">
            {name === '' ? t('user.unknown') : name}
          </Text>
          {session !== null && session.groups.length > 0 && (
            <Text size="xs" c="dimmed" className="wrap">
              {t('user.groups', { groups: session.groups.join(', ') })}
            </Text>
          )}
        </div>
        <Menu.Divider />
        <Menu.Item onClick={() => void signOut()}>{t('user.signOut')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
