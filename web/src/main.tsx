import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './page.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { startTranslations } from './i18n';
import { styleNonce } from './nonce';
import { Session } from './shell/Session';
import { theme, variables } from './theme';

const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 10_000, refetchOnWindowFocus: false } },
});

function Page() {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      getStyleNonce={styleNonce}
    >
      <QueryClientProvider client={queries}>
        <Notifications position="bottom-right" />
        <Session />
      </QueryClientProvider>
    </MantineProvider>
  );
}

async function start(): Promise<void> {
  await startTranslations();
  const root = document.getElementById('root');
  if (root === null) throw new Error('index.html has no element with the id root');
  createRoot(root).render(
    <StrictMode>
      <Page />
    </StrictMode>,
  );
}

void start();
