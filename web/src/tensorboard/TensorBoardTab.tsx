import { Alert, Button, Group, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ApiError, StartTensorBoard, TensorBoardInfo } from '../api/contract.gen';
import { asProblem, request } from '../api/http';
import { say } from '../i18n/say';
import { Card } from '../job/Card';
import { useJobAddress } from '../job/jobContext';
import { jobPath } from '../jobs/actions';
import { ProblemText } from '../shell/ProblemState';

const STARTING = 700;
const SERVING = 15_000;

/** TensorBoard in a pod beside the job. What it serves never has the origin of the console: the frame is a sandbox. */
export function TensorBoardTab() {
  const { t } = useTranslation();
  const address = useJobAddress();
  const path = `${jobPath(address)}/tensorboard`;
  const queries = useQueryClient();
  const [problem, setProblem] = useState<ApiError | null>(null);
  const { data, error } = useQuery({
    queryKey: ['tensorboard', path],
    queryFn: ({ signal }) => request<TensorBoardInfo>('GET', path, { signal }),
    refetchInterval: ({ state }) => (state.data?.state === 'starting' ? STARTING : SERVING),
  });
  const change = async (method: 'POST' | 'DELETE', wanted?: StartTensorBoard) => {
    setProblem(null);
    try {
      const found = await request<TensorBoardInfo>(method, path, wanted ? { body: JSON.stringify(wanted) } : {});
      queries.setQueryData(['tensorboard', path], found);
    } catch (failure) {
      setProblem(asProblem(failure));
    }
  };
  const shown = problem ?? (error ? asProblem(error) : null);
  return (
    <div className="overview">
      {shown && (
        <Alert color="red" title={t('problem.tried', { tried: say(shown.tried) })}>
          <ProblemText problem={shown} />
        </Alert>
      )}
      {data?.state === 'serving' ? (
        <Serving path={data.path} name={address.name} onStop={() => void change('DELETE')} />
      ) : (
        <Card title={t('tabs.tensorboard')}>
          {data?.state === 'ended' && <pre className="evidence">{data.message}</pre>}
          {data?.state === 'starting' ? (
            <Group role="status">
              <p>{t('tensorboard.starting')}</p>
              <p className="quiet">{say(data.message)}</p>
              <Stop onStop={() => void change('DELETE')} />
            </Group>
          ) : (
            <StartForm onStart={(wanted) => void change('POST', wanted)} />
          )}
        </Card>
      )}
    </div>
  );
}

function Stop({ onStop }: { readonly onStop: () => void }) {
  const { t } = useTranslation();
  return (
    <Button size="xs" variant="default" onClick={onStop}>
      {t('tensorboard.stop')}
    </Button>
  );
}

interface ServingProps {
  readonly path: string;
  readonly name: string;
  readonly onStop: () => void;
}

function Serving({ path, name, onStop }: ServingProps) {
  const { t } = useTranslation();
  return (
    <>
      <Group justify="space-between" wrap="nowrap">
        <p className="quiet">{t('tensorboard.hint')}</p>
        <Stop onStop={onStop} />
      </Group>
      <iframe
        className="pod-view"
        src={new URL(path.slice(1), document.baseURI).href}
        sandbox="allow-scripts"
        title={t('tensorboard.frame', { name })}
      />
    </>
  );
}

function StartForm({ onStart }: { readonly onStart: (wanted: StartTensorBoard) => void }) {
  const { t } = useTranslation();
  const [logDirectory, setLogDirectory] = useState('');
  const [image, setImage] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onStart({ logDirectory, image });
  };
  return (
    <form onSubmit={submit}>
      <p className="hint">{t('tensorboard.hint')}</p>
      <div className="form-row">
        <TextInput
          label={t('tensorboard.logDirectory')}
          description={t('tensorboard.logDirectoryHint')}
          value={logDirectory}
          onChange={(event) => setLogDirectory(event.currentTarget.value)}
        />
        <TextInput
          label={t('tensorboard.image')}
          description={t('tensorboard.imageHint')}
          value={image}
          onChange={(event) => setImage(event.currentTarget.value)}
        />
      </div>
      <Button type="submit" size="xs" mt="sm">
        {t('tensorboard.start')}
      </Button>
    </form>
  );
}
