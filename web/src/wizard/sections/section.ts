import type { Capabilities, KindInfo } from '../../api/contract.gen';
import type { Form, Path } from '../manifest';

export type Edit = (...changes: (readonly [Path, unknown])[]) => void;

/** What every part of the form gets: what the YAML says, and how to change it. */
export interface SectionProps {
  readonly form: Form;
  readonly kind: KindInfo;
  readonly capabilities: Capabilities;
  readonly disabled: boolean;
  /** What the API server says about a field. */
  readonly errorAt: (path: Path) => string | undefined;
  readonly edit: Edit;
}
