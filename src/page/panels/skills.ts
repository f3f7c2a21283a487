/** The published skills: a search, and an editor for people who have the right to edit skills. */

import type { SkillPage } from '../../client/index.ts';
import { element } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import {
	createField,
	createForm,
	createMistake,
	createRemoval,
	createSearchField,
	createTextArea,
} from '../parts/form.ts';
import { createPages, type Panel, type Place } from '../parts/panel.ts';

const example = `---
name: my-skill
description: What it is for, and when to read it.
---

What to do.
`;

export const skills: Panel = {
	name: 'skills',
	right: 'seeSkills',
	title: 'Skills',
	about: 'What agents may read up. A key with the scope admin publishes and changes them.',
	async open(root, place) {
		const list = element('ul', 'cards');
		const search = createSearchField('Search skills');
		const pages = createPages(
			place,
			() => place.client.listSkills({ query: search.value.trim() || undefined, limit: 100, signal: place.signal }),
			({ skills }) => list.replaceChildren(...skills.map((skill) => createEntry(skill, place))),
		);
		search.addEventListener('input', pages.reload);
		await pages.load();
		const adding = place.viewer.hasScope('admin')
			? [element('details', 'adding', element('summary', '', 'Publish a skill'), createNew(place))]
			: [];
		root.append(element('div', 'tools', search), ...adding, element('p', 'nothing', 'No skill was found.'), list);
	},
};

function createNew({ client, signal, again }: Place): HTMLElement {
	const text = createTextArea(example, 12);
	return createForm('Publish', [createField('SKILL.md', text)], async () => {
		const name = /^name:\s*(\S+)/m.exec(text.value)?.[1];
		if (name === undefined) throw createMistake('SKILL.md: its front matter has no name.');
		await client.putSkill(name, text.value, { signal });
		again();
	});
}

function createEntry({ name, description }: SkillPage['skills'][number], place: Place): HTMLElement {
	const title = element('summary', 'card-head', element('b', 'title', name), element('span', 'about', description));
	const details = element('details', '', title);
	details.addEventListener('toggle', async () => {
		if (!details.open || details.children.length > 1) return;
		try {
			details.append(await createEditor(name, place));
		} catch (error) {
			if (!place.signal.aborted) details.append(createFailure(error, place.again));
		}
	});
	return element('li', 'card', details);
}

async function createEditor(name: string, { client, viewer, signal, again }: Place): Promise<HTMLElement> {
	const { markdown, etag } = await client.getSkill(name, { signal });
	if (!viewer.hasScope('admin')) return element('pre', 'card-text', markdown);
	const text = createTextArea(markdown, 14);
	const result = element('ul');
	let version = etag;
	const form = createForm('Save', [createField('SKILL.md', text), result], async () => {
		const published = await client.putSkill(name, text.value, { etag: version, signal });
		version = published.etag;
		const warnings = (published.warnings ?? []).map(({ field, message }) => element('li', '', `${field}: ${message}`));
		result.replaceChildren(element('li', 'notice', 'Saved.'), ...warnings);
	});
	const remove = createRemoval(name, async () => {
		await client.deleteSkill(name, { signal });
		again();
	});
	form.querySelector('.form-end')?.append(remove);
	return form;
}
