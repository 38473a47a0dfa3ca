import { Center, Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ButtonLink } from './ButtonLink';

export function NotFound() {
  const { t } = useTranslation();
  return (
    <Center mih={320}>
      <Stack align="center" gap="xs">
        <Title order={1} size="h4">
          {t('notFound.title')}
        </Title>
        <Text c="dimmed">{window.location.pathname}</Text>
        <ButtonLink to="/jobs" variant="default">
          {t('notFound.step')}
        </ButtonLink>
      </Stack>
    </Center>
  );
}
