import * as v from 'valibot';
import { expect, test } from 'vitest';
import {
	type AgentDefinition,
	assertNoNamesakes,
	chooseModel,
	defineAgent,
	findAgent,
} from '../../../src/cloudflare/agent/define.ts';
import { fn, RunletError, toolbox } from '../../../src/core/index.ts';

const add = fn({ name: 'add', params: [['x', v.number()]] }, (x) => x);
const given: AgentDefinition = { name: 'host', description: 'Takes reservations.' };

function refusal(definition: object): RunletError {
	try {
		defineAgent({ ...given, ...definition });
	} catch (error) {
		if (error instanceof RunletError) return error;
	}
	throw new Error('the definition was not refused with a RunletError');
}

test('an agent needs a name and a description, and has no tools or skills by default', () => {
	expect(defineAgent(given)).toEqual({ ...given, tools: [], skillTools: [], skills: [] });
	expect(defineAgent({ ...given, tools: [add] }).tools).toMatchObject([{ name: 'add' }]);
});

test.each<[what: string, definition: object, field: string, says: RegExp]>([
	['a name that is invalid in a URL', { name: 'Host One' }, 'name', /^name: .*hyphens.*\(agent Host One\)/],
	['an empty description', { description: '' }, 'description', /^description: .*\(agent host\)/],
	[
		'a field that is misspelt',
		{ sytem: 'Be brief.' },
		'sytem',
		/^sytem: no such field\. Did you mean system\? \(agent host\)/,
	],
	[
		'a webhook of an unknown source',
		{ webhooks: { nobody: () => 'x' } },
		'webhooks.nobody',
		/^webhooks\.nobody: no such field/,
	],
	[
		'a webhook that is not a function',
		{ webhooks: { github: 'x' } },
		'webhooks.github',
		/^webhooks\.github: must be a function/,
	],
	[
		'a webhook with an unknown value of sameBody',
		{ webhooks: { github: { map: () => 'x', sameBody: 'never' } } },
		'webhooks.github',
		/^webhooks\.github: .*sameBody/,
	],
	['an invalid limit', { maxIterations: 0 }, 'maxIterations', /^maxIterations: /],
	['an unknown value of oldResults', { oldResults: 'drop' }, 'oldResults', /^oldResults: /],
	[
		'an invalid length in providerContext',
		{ providerContext: { compactAt: 1 } },
		'providerContext.compactAt',
		/compactAt/,
	],
	['an unknown value of contextFull', { contextFull: 'forget' }, 'contextFull', /^contextFull: /],
	['an empty example', { examples: ['Hello', ' '] }, 'examples.1', /^examples\.1: must not be empty/],
	['an example that is a page long', { examples: ['x'.repeat(501)] }, 'examples.0', /^examples\.0: at most 500/],
	['more than eight examples', { examples: [...'abcdefghi'] }, 'examples', /^examples: at most 8/],
	['an example that occurs twice', { examples: ['a', 'a'] }, 'examples', /^examples: two of them are the same/],
	['a prompt that is neither text nor function', { system: 7 }, 'system', /^system: must be a text, or a function/],
	['an invalid output schema', { outputSchema: 'city' }, 'outputSchema', /^outputSchema: must be a schema/],
	[
		'an output schema with an invalid pattern',
		{ outputSchema: { type: 'object', properties: { city: { pattern: '(' } } } },
		'outputSchema',
		/^outputSchema: properties\.city\.pattern: .*\(agent host\)/,
	],
	[
		'an output schema that JSON Schema cannot express',
		{ outputSchema: v.instance(Date) },
		'outputSchema',
		/^outputSchema: no JSON Schema for this schema/,
	],
	[
		'a time limit that is misspelt',
		{ timeouts: { toolMS: 3 } },
		'timeouts.toolMS',
		/^timeouts\.toolMS: no such field\. Did you mean toolMs\? \(agent host\)/,
	],
	[
		'tools that are only names',
		{ tools: ['calc'] },
		'tools',
		/^tools: must be a list of tools \(made by fn or tool\.define\)/,
	],
	['skills that are neither names nor skills', { skills: [7] }, 'skills', /^skills: must be 'all', or a list/],
])('refuses %s, and names the field and the agent', (_, definition, field, says) => {
	const { code, message, data } = refusal(definition);
	expect([code, data?.field]).toEqual(['invalid_agent', field]);
	expect(message).toMatch(says);
});

test('refuses two tools with the same name, even if one tool is only for skills', () => {
	expect(refusal({ tools: [add], skillTools: [add] }).code).toBe('duplicate_tool');
	expect(refusal({ tools: [add, add] })).toMatchObject({
		code: 'duplicate_tool',
		message: expect.stringContaining('add'),
	});
});

test('refuses two agents with the same name, and says what to do', () => {
	const host = defineAgent(given);
	const other = defineAgent({ ...given, description: 'The other one.' });
	expect(() => assertNoNamesakes([host, other])).toThrow(
		`two agents are named host ("${host.description}" and "The other one."). Give one of them another name`,
	);
	expect(() => assertNoNamesakes([host, host])).toThrow('the agent host is in the list twice. Take one of them out.');
	expect(() => assertNoNamesakes([host])).not.toThrow();
});

test('the stack of a definition error starts at a line of the project, not at a line of Runlet', () => {
	try {
		defineAgent({ ...given, maxRetries: -1 });
		expect.unreachable();
	} catch (error) {
		const [first] = /\n\s+at .*/.exec(error instanceof Error ? (error.stack ?? '') : '') ?? [];
		expect(first).toContain('define.test.ts');
	}
});

test('a session uses its own model if the agent allows it, else the agent’s model, else the Worker’s model', () => {
	const agent = defineAgent({ ...given, models: ['other'] });
	expect(chooseModel(agent, undefined, 'demo')).toBe('demo');
	expect(chooseModel({ ...agent, model: 'own' }, undefined, 'demo')).toBe('own');
	expect(chooseModel(agent, 'other', 'demo')).toBe('other');
	expect(() => chooseModel(agent, 'third', 'demo')).toThrow(/Possible: demo, other/);
});

test('an unknown agent is not found, and the error names the known agents', () => {
	expect(() => findAgent([defineAgent(given)], 'guest')).toThrow(/guest.*Known: host/);
});

test('accepts a toolbox as tools', () => {
	expect(defineAgent({ ...given, tools: toolbox.build([add]) }).tools).toMatchObject([{ name: 'add' }]);
});

test('refuses two skills with the same name, whether they are published or defined in code', () => {
	const own = { name: 'tone', description: 'How we write.' };
	for (const skills of [
		[own, { ...own }],
		['tone', own],
		['tone', 'tone'],
	])
		expect(refusal({ skills }).code).toBe('duplicate_skill');
});

test.each<[what: string, skill: object, code: string, says: RegExp]>([
	['a field', { bodi: 'Be brief.' }, 'invalid_skill', /^bodi: no such field\. Did you mean body\? \(skill brief\)/],
	['a body', { body: 3 }, 'invalid_skill', /^body: .*string.*\(skill brief\)/],
	[
		'a tool',
		{ tools: [{ name: 'a', needApproval: true }] },
		'invalid_tool',
		/^needApproval: .*\(tool a\).*\(skill brief\)/,
	],
])('refuses a skill that has an error in %s, and names the skill', (_, more, code, says) => {
	const { code: refusedAs, message } = refusal({ skills: [{ name: 'brief', description: 'Be brief.', ...more }] });
	expect([refusedAs, message]).toEqual([code, expect.stringMatching(says)]);
});
