import { ActionIcon, Menu, Tooltip, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { Link, Outlet, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useStreamState } from '../api/topics';
import { LANGUAGES, setLanguage } from '../i18n';
import logo from '../icon.svg';
import { KeyboardIcon, LanguageIcon, MoonIcon, SearchIcon, SunIcon } from '../icons';
import { AwayBanner } from './AwayBanner';
import { withModifier } from './modifierKey';
import { Palette } from './Palette';
import { Rail } from './Rail';
import { ShortcutSheet } from './ShortcutSheet';
import { useShortcuts } from './shortcuts';
import { UserMenu } from './UserMenu';
import { useCapabilities, useRenewedCapabilities } from './useCapabilities';
import { useGoKeys } from './useGoKeys';

export function Frame() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [shortcuts, setShortcuts] = useState(false);
  const [palette, setPalette] = useState(false);
  useRenewedCapabilities();
  useGoKeys();
  const noCluster = useCapabilities()?.mode === 'recording';
  useShortcuts([
    ['mod+K', () => setPalette(!noCluster)],
    ['shift+?', () => setShortcuts(true)],
    ['n', () => void (noCluster || navigate({ to: '/jobs/new' }))],
  ]);
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => document.getElementById('main')?.focus()}>
        {t('frame.skip')}
      </button>
      <header className="header">
        <Link to="/jobs" className="brand">
          <img src={logo} alt="" width={22} height={22} />
          <span>{'traincrew'}</span>
        </Link>
        <ClusterBadge />
        <span className="grow" />
        <ConnectionState />
        {!noCluster && (
          <button type="button" className="find" onClick={() => setPalette(true)}>
            <SearchIcon size={14} />
            <span>{t('palette.open')}</span>
            <kbd>{withModifier('K')}</kbd>
          </button>
        )}
        <Tooltip label={t('shortcuts.title')}>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={t('shortcuts.title')}
            onClick={() => setShortcuts(true)}
          >
            <KeyboardIcon />
          </ActionIcon>
        </Tooltip>
        <LanguageSwitch />
        <ThemeSwitch />
        <UserMenu />
      </header>
      <Rail />
      <main className="main" id="main" tabIndex={-1}>
        <AwayBanner />
        <Outlet />
      </main>
      {shortcuts && <ShortcutSheet onClose={() => setShortcuts(false)} />}
      {palette && <Palette onClose={() => setPalette(false)} />}
    </div>
  );
}

function ClusterBadge() {
  const { t } = useTranslation();
  const capabilities = useCapabilities();
  if (!capabilities) return null;
  if (capabilities.mode === 'recording') return <span className="cluster-badge">{t('cluster.recording')}</span>;
  const text =
    capabilities.mode === 'embedded'
      ? t('cluster.embedded')
      : t('cluster.named', { name: capabilities.context || capabilities.server });
  return (
    <Tooltip label={`${capabilities.server} · Kubernetes ${capabilities.serverVersion} · ${capabilities.user}`}>
      <span className="cluster-badge">{text}</span>
    </Tooltip>
  );
}

function ConnectionState() {
  const { t } = useTranslation();
  const { connection, cluster } = useStreamState();
  const noCluster = useCapabilities()?.mode === 'recording';
  if (noCluster && connection === 'open') return null;
  const state = connection === 'open' && cluster?.state === 'away' ? 'away' : connection;
  return (
    <span className={`connection ${state}`} role="status">
      <span className="connection-dot" aria-hidden="true" />
      {t(`connection.${state}`)}
    </span>
  );
}

function LanguageSwitch() {
  const { t, i18n } = useTranslation();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={t('frame.language')}>
          <LanguageIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {LANGUAGES.map((language) => (
          <Menu.Item
            key={language}
            onClick={() => setLanguage(language)}
            disabled={language === i18n.language}
            lang={language}
          >
            {t(`languages.${language}`)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function ThemeSwitch() {
  const { t } = useTranslation();
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme('light') === 'dark';
  const label = dark ? t('frame.light') : t('frame.dark');
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={label}
        onClick={() => setColorScheme(dark ? 'light' : 'dark')}
      >
        {dark ? <SunIcon /> : <MoonIcon />}
      </ActionIcon>
    </Tooltip>
  );
}
