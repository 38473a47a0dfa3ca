import { Button, Group, SegmentedControl, Skeleton } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { YamlDocument } from '../api/contract.gen';
import { asProblem, request } from '../api/http';
import { CopyIcon, DownloadIcon } from '../icons';
import { jobPath } from '../jobs/actions';
import { ProblemState } from '../shell/ProblemState';
import { YamlDiff } from '../yaml/YamlDiff';
import { YamlEditor } from '../yaml/YamlEditor';
import { useCurrentJob, useJobAddress } from './jobContext';

const FROM = '/jobs/$namespace/$kind/$name/yaml';
type View = 'diff' | 'submitted';

export function YamlTab() {
  const { t } = useTranslation();
  const address = useJobAddress();
  const { summary } = useCurrentJob();
  const { view } = useSearch({ from: FROM });
  const navigate = useNavigate({ from: FROM });
  const { data, error, refetch } = useQuery({
    queryKey: ['yaml', summary.uid, summary.status],
    queryFn: ({ signal }) => request<YamlDocument>('GET', `${jobPath(address)}/yaml`, { signal }),
    placeholderData: (before) => before,
  });
  if (error) return <ProblemState problem={asProblem(error)} retry={() => void refetch()} />;
  if (!data) return <Skeleton height={400} />;
  const text = view === 'submitted' ? data.submitted : data.yaml;
  return (
    <>
      <Group justify="space-between">
        <SegmentedControl
          size="xs"
          aria-label={t('yaml.view')}
          value={view ?? 'full'}
          onChange={(value) =>
            void navigate({
              search: ({ view: _, ...before }) => (value === 'full' ? before : { ...before, view: value as View }),
              replace: true,
            })
          }
          data={[
            { value: 'full', label: t('yaml.full') },
            { value: 'submitted', label: t('yaml.submitted') },
            { value: 'diff', label: t('yaml.diff') },
          ]}
        />
        <Group gap="xs">
          <Button
            size="xs"
            variant="default"
            leftSection={<CopyIcon size={13} />}
            onClick={() => void copy(text, t('yaml.copied'))}
          >
            {t('yaml.copy')}
          </Button>
          <Button
            size="xs"
            variant="default"
            leftSection={<DownloadIcon size={13} />}
            component="a"
            href={`data:application/yaml;charset=utf-8,${encodeURIComponent(text)}`}
            download={`${summary.name}.yaml`}
          >
            {t('yaml.download')}
          </Button>
        </Group>
      </Group>
      {view === 'diff' ? (
        <>
          <p className="quiet">{t('yaml.diffHint')}</p>
          <YamlDiff before={data.submitted} after={data.yaml} label={t('yaml.diff')} unchanged={t('yaml.unchanged')} />
        </>
      ) : (
        <YamlEditor text={text} label={t('tabs.yaml')} />
      )}
    </>
  );
}

async function copy(text: string, message: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  notifications.show({ message });
}
