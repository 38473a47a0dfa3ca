import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Capabilities } from '../api/contract.gen';
import { asProblem } from '../api/http';
import { ButtonLink } from '../shell/ButtonLink';
import { ProblemState } from '../shell/ProblemState';
import { useCapabilitiesQuery } from '../shell/useCapabilities';
import { useTitle } from '../shell/useTitle';
import { totalOf } from '../wizard/checks';
import { parse } from '../wizard/manifest';
import { project } from '../wizard/projection';
import type { Template } from './builtIn';
import { OpenFile } from './OpenFile';
import { allTemplates, deleteTemplate, loadSaved } from './saved';

export function TemplatesPage() {
  const { t } = useTranslation();
  useTitle(t('templates.title'));
  const { data: capabilities, error, refetch } = useCapabilitiesQuery();
  const [saved, setSaved] = useState(loadSaved);
  if (error && !capabilities) return <ProblemState problem={asProblem(error)} retry={() => void refetch()} />;
  const all = capabilities ? allTemplates(capabilities, saved) : [];
  const remove = (name: string) => {
    deleteTemplate(name);
    setSaved(loadSaved());
  };
  return (
    <div className="page templates">
      <Group justify="space-between">
        <h1 className="page-title">{t('templates.title')}</h1>
        <OpenFile />
      </Group>
      <p className="quiet">{t('templates.how')}</p>
      {capabilities && (
        <TemplateList
          title={t('templates.saved')}
          {...{ capabilities, remove }}
          templates={all.filter((each) => !each.builtIn)}
        />
      )}
      {capabilities && (
        <TemplateList
          title={t('templates.builtIn')}
          {...{ capabilities, remove }}
          templates={all.filter((each) => each.builtIn)}
        />
      )}
    </div>
  );
}

interface ListProps {
  readonly title: string;
  readonly capabilities: Capabilities;
  readonly templates: readonly Template[];
  readonly remove: (name: string) => void;
}

function TemplateList({ title, capabilities, templates, remove }: ListProps) {
  const { t } = useTranslation();
  return (
    <section className="card" aria-label={title}>
      <h2 className="card-title">{title}</h2>
      {templates.length === 0 && <p className="quiet">{t('templates.none')}</p>}
      <ul className="template-list">
        {templates.map((template) => (
          <TemplateRow key={template.name} {...{ capabilities, template, remove }} />
        ))}
      </ul>
    </section>
  );
}

interface RowProps extends Pick<ListProps, 'capabilities' | 'remove'> {
  readonly template: Template;
}

function TemplateRow({ capabilities, template, remove }: RowProps) {
  const { t } = useTranslation();
  const form = project(parse(template.text).document, capabilities.kinds);
  return (
    <li>
      <span className="grow">
        <strong>{template.name}</strong>
        <span className="second">
          {[form.kindName, form.apiVersion, totalOf(form).sum, form.description].filter(Boolean).join(' · ')}
        </span>
      </span>
      {!template.builtIn && (
        <Button
          size="compact-xs"
          variant="subtle"
          color="red"
          onClick={() => remove(template.name)}
          aria-label={t('wizard.remove', { name: template.name })}
        >
          {t('actions.delete')}
        </Button>
      )}
      <ButtonLink
        size="compact-xs"
        variant="default"
        to="/jobs/new"
        search={{ from: `template:${template.name}` }}
        aria-label={t('templates.useNamed', { name: template.name })}
      >
        {t('templates.use')}
      </ButtonLink>
    </li>
  );
}
