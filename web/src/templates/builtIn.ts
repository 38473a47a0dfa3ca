// Templates that come with the page: one for each kind, both versions of MPIJob, and the benchmark of seed 004.

import type { Capabilities } from '../api/contract.gen';
import { hasStarter, starterText } from '../wizard/starters';

export interface Template {
  /** What `?from=template:NAME` says. */
  readonly name: string;
  readonly text: string;
  readonly builtIn: boolean;
}

const BENCHMARKS = `apiVersion: kubeflow.org/v1
kind: MPIJob
metadata:
  name: tensorflow-benchmarks
  annotations:
    traincrew.kubeflow.org/description: ResNet-101 with TensorFlow and Horovod
spec:
  slotsPerWorker: 1
  runPolicy:
    cleanPodPolicy: Running
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
            - name: tensorflow-benchmarks
              image: mpioperator/tensorflow-benchmarks:latest
              command:
                - mpirun
                - --allow-run-as-root
                - -np
                - "2"
                - -bind-to
                - none
                - -map-by
                - slot
                - -x
                - NCCL_DEBUG=INFO
                - -x
                - LD_LIBRARY_PATH
                - -x
                - PATH
                - -mca
                - pml
                - ob1
                - -mca
                - btl
                - ^openib
                - python
                - scripts/tf_cnn_benchmarks/tf_cnn_benchmarks.py
                - --model=resnet101
                - --batch_size=64
                - --variable_update=horovod
              resources:
                limits: {cpu: "2", memory: 4Gi}
                requests: {cpu: "2", memory: 4Gi}
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: tensorflow-benchmarks
              image: mpioperator/tensorflow-benchmarks:latest
              resources:
                limits: {cpu: "2", memory: 4Gi, nvidia.com/gpumem: 1k, nvidia.com/vgpu: "1"}
                requests: {cpu: "2", memory: 4Gi}
`;

export function builtInTemplates(capabilities: Capabilities): Template[] {
  const kinds = capabilities.kinds.filter((kind) => kind.installed && hasStarter(kind));
  const starters = kinds.flatMap((kind) =>
    kind.apiVersions.map((version, index) => ({
      name: index === 0 ? kind.kind : `${kind.kind}-${version.split('/').at(-1)}`,
      text: starterText(kind, version, capabilities.namespace),
      builtIn: true,
    })),
  );
  const mpi = kinds.some((kind) => kind.kind === 'mpijob');
  return [...(mpi ? [{ name: 'tensorflow-benchmarks', text: BENCHMARKS, builtIn: true }] : []), ...starters];
}
