import { operation } from '../operation.ts';
import { publishedSkill, skill, skillPage, skillQuery } from '../skill.ts';

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

export const listSkills = operation({
	id: 'listSkills',
	method: 'get',
	path: '/v1/skills',
	tag: 'Skills',
	summary: 'List or search the skills',
	description: 'By name; with a `query` the best first, each with its `score`.',
	access: 'key',
	query: skillQuery,
	answers: {
		200: { says: 'A page of the published skills.', json: skillPage, examples: { page: { skills: [listed] } } },
	},
});

export const getSkill = operation({
	id: 'getSkill',
	method: 'get',
	path: '/v1/skills/:name',
	tag: 'Skills',
	summary: 'Read a skill',
	access: 'key',
	headers: ['accept', 'if-none-match'],
	answers: {
		200: {
			says: 'The skill; with `Accept: text/markdown` its SKILL.md.',
			json: skill,
			examples: { skill: { ...listed, body: 'Write as one person to another.' } },
			also: { 'text/markdown': { example: markdown } },
			headers: ['etag'],
		},
		304: { says: 'The client has the newest.' },
	},
	errors: [404],
});

export const putSkill = operation({
	id: 'putSkill',
	method: 'put',
	path: '/v1/skills/:name',
	tag: 'Skills',
	summary: 'Publish a skill',
	description:
		'One that is there is replaced only under its newest `ETag`. Files beside the text stay. What breaches the format and works all the same is published, with `warnings`.',
	access: 'admin',
	headers: ['if-match', 'if-none-match'],
	body: { 'text/markdown': { example: markdown } },
	answers: {
		200: { says: 'It was replaced.', json: publishedSkill, examples: { published }, headers: ['etag'] },
		201: { says: 'It was created.', json: publishedSkill, examples: { published }, headers: ['etag'] },
	},
	errors: [400, 412, 413, 415, 428],
});

export const deleteSkill = operation({
	id: 'deleteSkill',
	method: 'delete',
	path: '/v1/skills/:name',
	tag: 'Skills',
	summary: 'Remove a skill',
	access: 'admin',
	headers: ['if-match', 'if-none-match'],
	answers: { 204: { says: 'It is removed.' } },
	errors: [400, 404, 412],
});
