import * as endpoints from '../endpoints/skills.ts';
import { createOperations } from '../operation.ts';
import { publishedSkill, skill, skillPage } from '../skill.ts';
import { putAnswers } from './shared.ts';

const operation = createOperations('Skills');

const markdown = `---
name: customer-tone
description: How we write to customers. Read it before drafting any reply.
metadata:
  when: customer, reply, email
---

Write as one person to another.
`;

const listed = {
	name: 'customer-tone',
	description: 'How we write to customers. Read it before drafting any reply.',
	when: ['customer', 'reply', 'email'],
	etag: '3q2-7w',
};

const published = { name: 'customer-tone', etag: '3q2-7w' };

export const listSkills = operation(endpoints.listSkills, {
	summary: 'List or search the skills',
	description: 'Sorted by name. With a `query` the best skills come first, each with its `score`.',
	answers: {
		200: { says: 'One page of the published skills.', json: skillPage, examples: { page: { skills: [listed] } } },
	},
});

export const getSkill = operation(endpoints.getSkill, {
	summary: 'Read a skill',
	headers: ['accept', 'if-none-match'],
	answers: {
		200: {
			says: 'The skill. With `Accept: text/markdown` its SKILL.md.',
			json: skill,
			examples: { skill: { ...listed, body: 'Write as one person to another.' } },
			also: { 'text/markdown': { example: markdown } },
			headers: ['etag'],
		},
		304: { says: 'The client has the newest version.' },
	},
});

export const putSkill = operation(endpoints.putSkill, {
	summary: 'Publish a skill',
	description:
		'An existing skill is replaced only if `If-Match` has its newest `ETag`. Files beside the text stay. A skill that violates the format but works is published, with `warnings`.',
	headers: ['if-match', 'if-none-match'],
	body: { 'text/markdown': { example: markdown } },
	answers: putAnswers('skill', { json: publishedSkill, examples: { published }, headers: ['etag'] }),
	errors: [400, 412, 413, 415, 428],
});

export const deleteSkill = operation(endpoints.deleteSkill, {
	summary: 'Remove a skill',
	headers: ['if-match', 'if-none-match'],
	answers: { 204: { says: 'The skill is removed.' } },
	errors: [400, 412],
});
