import { Stack } from '@mantine/core';
import type { Capabilities, FieldError, KindInfo } from '../api/contract.gen';
import { useSay } from '../i18n/say';
import type { Path } from './manifest';
import type { Form } from './projection';
import { AdvancedSection } from './sections/AdvancedSection';
import { BasicsSection } from './sections/BasicsSection';
import { CommandSection } from './sections/CommandSection';
import { EnvironmentSection } from './sections/EnvironmentSection';
import { RolesSection } from './sections/RolesSection';
import type { Edit, SectionProps } from './sections/section';
import { VolumesSection } from './sections/VolumesSection';

interface Props {
  readonly form: Form;
  readonly kind: KindInfo;
  readonly capabilities: Capabilities;
  readonly disabled: boolean;
  readonly findings: readonly FieldError[];
  readonly edit: Edit;
}

/** `spec.a.Worker.containers[0].image`, as the errors of the API server name a field. */
export function fieldName(path: Path): string {
  return path
    .map((each) => (typeof each === 'number' ? `[${each}]` : `.${each}`))
    .join('')
    .replace(/^\./, '');
}

export function JobForm({ findings, ...rest }: Props) {
  const say = useSay();
  const errorAt = (path: Path) => {
    const found = findings.find((each) => each.level === 'error' && each.path === fieldName(path));
    return found && say(found.message);
  };
  const props: SectionProps = { ...rest, errorAt };
  return (
    <Stack gap="sm">
      <BasicsSection {...props} />
      <CommandSection {...props} />
      <RolesSection {...props} />
      <EnvironmentSection {...props} />
      <VolumesSection {...props} />
      <AdvancedSection {...props} />
    </Stack>
  );
}
