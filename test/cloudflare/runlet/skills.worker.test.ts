import { env } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { createResolver } from '../../../src/cloudflare/agent/resolver.ts';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import {
	createRunlet,
	defineAgent,
	type RunletOptions,
	type SkillSource,
} from '../../../src/cloudflare/runlet/index.ts';
import { type Skill, skill } from '../../../src/core/index.ts';

const create = (name: string): Skill => ({ name, description: `About ${name}.`, body: `The text of ${name}.` });
const library = skill.inMemoryResolver([create('tone'), create('refunds')]);
const about = { name: 'desk', description: 'Answers.' };
const turn = { messages: [], model: 'demo' };
const { SKILLS: _, PUBLISHERS: __, ...withoutSkills } = env;
const local = { ...withoutSkills, LOCAL: 'true' };

/** The names of an agent's skills in a run. */
async function listSkills(agent: Parameters<typeof defineAgent>[0], skills?: SkillSource, owner = 'ada') {
	const reader = {
		runtime: { skills },
		config: readConfig({ ...env }),
		reader: { owner, metadata: {} },
	};
	const resolver = createResolver(defineAgent(agent), reader);
	return resolver === undefined ? undefined : (await resolver.listFn(turn)).map(({ name }) => name);
}

test("an agent has all, some or none of the skills of the Worker's resolver", async () => {
	expect(await listSkills({ ...about, skills: 'all' }, library)).toEqual(['tone', 'refunds']);
	expect(await listSkills({ ...about, skills: ['refunds'] }, library)).toEqual(['refunds']);
	expect(await listSkills({ ...about, skills: [create('own'), 'tone'] }, library)).toEqual(['own', 'tone']);
	expect(await listSkills({ ...about, skills: [create('own')] }, library)).toEqual(['own']);
	expect(await listSkills(about, library)).toBeUndefined();
});

test("an agent's own resolver replaces the Worker's resolver", async () => {
	const skillResolver = skill.inMemoryResolver([create('audit'), create('books')]);
	expect(await listSkills({ ...about, skillResolver }, library)).toEqual(['audit', 'books']);
	expect(await listSkills({ ...about, skillResolver, skills: ['books'] }, library)).toEqual(['books']);
	expect(await listSkills({ ...about, skillResolver, skills: [create('own')] }, library)).toEqual([
		'own',
		'audit',
		'books',
	]);
});

test('a resolver can depend on the owner of the session, and an owner can have no skills', async () => {
	const skills: SkillSource = (given, owner) => {
		expect(given).toHaveProperty('SESSIONS');
		return owner === 'bob' ? undefined : skill.inMemoryResolver([create(`of-${owner}`)]);
	};
	expect(await listSkills({ ...about, skills: 'all' }, skills, 'ada')).toEqual(['of-ada']);
	expect(await listSkills({ ...about, skills: 'all' }, skills, 'bob')).toBeUndefined();
});

test('an error of the project’s skills function is thrown when an agent lists its skills', async () => {
	const skills = () => {
		throw new Error('no database');
	};
	await expect(listSkills({ ...about, skills: 'all' }, skills)).rejects.toThrow('no database');
});

const ask = (options: Partial<RunletOptions>, path: string) =>
	createRunlet({ agents: [defineAgent({ ...about, skills: ['tone'] })], ...options }).fetch(
		new Request(`http://127.0.0.1${path}`),
		local,
	);

test('a Worker with a resolver needs no SKILLS binding, and its agents list the resolver’s skills', async () => {
	expect(await (await ask({ skills: library }, '/healthz?deep')).json()).toEqual({ status: 'ok', problems: [] });
	const { agents }: { agents: { skills: object }[] } = await (await ask({ skills: library }, '/v1/agents')).json();
	expect(agents[0]?.skills).toEqual([{ name: 'tone', description: 'About tone.' }]);
	const published = await ask({ skills: library }, '/v1/skills');
	expect([published.status, await published.text()]).toEqual([503, expect.stringContaining('SKILLS: this binding')]);
	expect((await ask({}, '/v1/agents')).status).toBe(503);
});

test('a skill that the resolver does not have is reported as a problem of its agent', async () => {
	const skills = skill.inMemoryResolver([create('other')]);
	const { problems }: { problems: object[] } = await (await ask({ skills }, '/healthz?deep')).json();
	expect(problems).toEqual([
		{ where: 'agent desk', message: expect.stringContaining('its resolver has no skill "tone"') },
	]);
});

test.each([[{ listFn: () => [] }], ['kv'], [null]])('refuses %j as a resolver', (wrong) => {
	const skills: SkillSource = JSON.parse(JSON.stringify(wrong));
	const agents = [defineAgent(about)];
	expect(() => createRunlet({ agents, skills })).toThrow(
		'skills: must be a resolver, { listFn, readFn }, or a function',
	);
	expect(() => defineAgent({ ...about, skillResolver: skills })).toThrow('skillResolver: must be a resolver');
});
