import { Select, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { isName } from '../checks';
import { DESCRIPTION } from '../projection';
import type { SectionProps } from './section';

export function BasicsSection({ form, kind, capabilities, disabled, errorAt, edit }: SectionProps) {
  const { t } = useTranslation();
  const namespace = form.namespace || capabilities.namespace;
  return (
    <>
      <h2 className="card-title">{t('wizard.basics')}</h2>
      <div className="form-row">
        <TextInput
          label={t('columns.name')}
          required
          value={form.name}
          disabled={disabled}
          error={(isName(form.name) ? undefined : t('wizard.nameRule')) ?? errorAt(['metadata', 'name'])}
          onChange={(event) => edit([['metadata', 'name'], event.currentTarget.value])}
        />
        <Select
          label={t('filters.ns')}
          value={namespace}
          disabled={disabled}
          searchable
          allowDeselect={false}
          error={errorAt(['metadata', 'namespace'])}
          data={[...new Set([namespace, ...capabilities.namespaces])]}
          onChange={(value) => edit([['metadata', 'namespace'], value ?? undefined])}
        />
        {kind.apiVersions.length > 1 && (
          <Select
            label={t('wizard.apiVersion')}
            value={form.apiVersion}
            disabled={disabled}
            allowDeselect={false}
            data={kind.apiVersions}
            onChange={(value) => edit([['apiVersion'], value ?? form.apiVersion])}
          />
        )}
      </div>
      <TextInput
        label={t('wizard.description')}
        value={form.description}
        disabled={disabled}
        onChange={(event) => edit([['metadata', 'annotations', DESCRIPTION], event.currentTarget.value || undefined])}
      />
    </>
  );
}
