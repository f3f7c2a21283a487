import { env } from 'cloudflare:test';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { request } from '../../client.ts';

const entry = (name: string) => ({ name, description: `About ${name}.`, hash: `h-${name}` });

const indexed = (...skills: readonly unknown[]) =>
	env.SKILLS.put('skill:index', JSON.stringify({ version: 1, skills }));

const written: string[] = [];

beforeEach(async () => {
	for (const { name } of (await env.SKILLS.list()).keys) await env.SKILLS.delete(name);
	written.length = 0;
	vi.spyOn(console, 'warn').mockImplementation((line) => void written.push(String(line)));
});

afterEach(() => vi.restoreAllMocks());

/** The logged problems of skills, with the names of the skills. */
const told = () =>
	written.flatMap((line) => {
		const { event, ...fields } = JSON.parse(line);
		return event === 'skills.problem' ? [[fields['error.type'], fields['runlet.skill.name']]] : [];
	});

test('each warning about a skill names the skill', async () => {
	await indexed(entry('tone'), { name: 'broken', hash: 7 }, entry('tone'));
	for (const path of ['/v1/skills', '/v1/skills?query=tone', '/v1/skills/tone', '/v1/agents']) {
		written.length = 0;
		await request(path);
		expect(told(), path).toContainEqual(['entry_invalid', 'broken']);
		expect(told(), path).toContainEqual(['entry_invalid', 'tone']);
	}
});

test('an agent reports the name of a skill that is not published', async () => {
	await indexed(entry('tone'));
	await request('/v1/agents');
	expect(told()).toEqual(expect.arrayContaining([['not_published', 'published']]));
});

test('the client and the log get the name of a skill whose text is missing', async () => {
	await indexed(entry('tone'));
	const response = await request('/v1/skills/tone');
	expect(response.status).toBe(503);
	expect(JSON.stringify(await response.json())).toContain('The text of the skill tone cannot be read yet.');
	expect(told()).toEqual([['text_missing', 'tone']]);
});

test('an invalid name of a skill does not reach the log', async () => {
	await indexed({ name: 'a\nb "c"', hash: 7 });
	await request('/v1/skills');
	expect(told()).toEqual([['entry_invalid', 'redacted']]);
});
