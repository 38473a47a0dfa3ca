// An MPIJob for the tests of the wizard.
import type { KindInfo } from '../api/contract.gen';
import { parse } from './manifest';
import { type Form, project, type RoleForm } from './projection';
import { starterText } from './starters';

export const MPI: KindInfo = {
  kind: 'mpijob',
  kindName: 'MPIJob',
  apiVersions: ['kubeflow.org/v1'],
  replicasField: 'mpiReplicaSpecs',
  roles: ['Launcher', 'Worker'],
  installed: true,
  scalable: false,
};
export const starter = starterText(MPI, 'kubeflow.org/v1', 'default');
export const form = (text: string): Form => project(parse(text).document, [MPI]);
export const role = (text: string, name: string): RoleForm => {
  const found = form(text).roles.find((each) => each.name === name);
  if (!found) throw new Error(name);
  return found;
};
