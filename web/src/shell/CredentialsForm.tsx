import { Button, Code, FileButton, PasswordInput, Stack, Tabs, Text, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ApiError } from '../api/contract.gen';
import { ProblemText } from './ProblemState';
import type { SignInProps } from './SignInPage';

type Method = 'token' | 'kubeconfig';

/** A token or a kubeconfig of the user. The page sends it once and keeps it nowhere. */
export function CredentialsForm({ signIn }: SignInProps) {
  const { t } = useTranslation();
  const [method, setMethod] = useState<Method>('token');
  const [values, setValues] = useState({ token: '', kubeconfig: '', namespace: '' });
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const set = (part: Partial<typeof values>) => setValues((before) => ({ ...before, ...part }));
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    setProblem(await signIn({ [method]: values[method], namespace: values.namespace.trim() }));
    setBusy(false);
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        <Tabs value={method} onChange={(value) => setMethod(value === 'kubeconfig' ? 'kubeconfig' : 'token')}>
          <Tabs.List mb="sm">
            <Tabs.Tab value="token">{t('signIn.token')}</Tabs.Tab>
            <Tabs.Tab value="kubeconfig">{t('signIn.kubeconfig')}</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="token">
            <Stack gap="xs">
              <Text size="sm">{t('signIn.tokenHow')}</Text>
              <Code block>{'kubectl create token NAME'}</Code>
              <PasswordInput
                label={t('signIn.token')}
                value={values.token}
                onChange={(event) => set({ token: event.currentTarget.value })}
                visibilityToggleButtonProps={{ 'aria-label': t('signIn.show') }}
                autoComplete="off"
              />
            </Stack>
          </Tabs.Panel>
          <Tabs.Panel value="kubeconfig">
            <Stack gap="xs">
              <Text size="sm">{t('signIn.kubeconfigHow')}</Text>
              <Code block>{'kubectl config view --minify --flatten --raw'}</Code>
              <Textarea
                label={t('signIn.kubeconfigText')}
                value={values.kubeconfig}
                onChange={(event) => set({ kubeconfig: event.currentTarget.value })}
                minRows={5}
                maxRows={10}
                autosize
                spellCheck={false}
                autoComplete="off"
                classNames={{ input: 'mono' }}
              />
              <FileButton onChange={(file) => void file?.text().then((kubeconfig) => set({ kubeconfig }))}>
                {(props) => (
                  <Button {...props} variant="default" size="xs">
                    {t('signIn.file')}
                  </Button>
                )}
              </FileButton>
            </Stack>
          </Tabs.Panel>
        </Tabs>
        <TextInput
          label={t('signIn.namespace')}
          description={t('signIn.namespaceHow')}
          value={values.namespace}
          onChange={(event) => set({ namespace: event.currentTarget.value })}
          autoComplete="off"
        />
        {problem && (
          <div role="alert" className="sign-in-problem">
            <ProblemText problem={problem} />
          </div>
        )}
        <Button type="submit" loading={busy} disabled={values[method].trim() === ''}>
          {t('signIn.submit')}
        </Button>
        <Text size="xs" c="dimmed">
          {t('signIn.memory')}
        </Text>
      </Stack>
    </form>
  );
}
