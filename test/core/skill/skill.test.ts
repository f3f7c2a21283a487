import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { fn, type Skill, skill } from '../../../src/core/index.ts';
import { refusal } from '../tool/support.ts';

const tone = fn(
	{ name: 'myapp/tone', skill: { description: 'Customer tone', when: ['reply'], body: 'Be warm.' } },
	() => ({}),
);
const receipts = fn(
	{
		name: 'receipts',
		params: [['attachments', v.optional(v.array(v.string()))]],
		skill: { description: 'Extract line items', modalities: ['image', 'pdf'] },
	},
	(attachments = []) => `Extract from ${attachments.length} file(s).`,
);

describe('fromFn', () => {
	test('returns the fields of the annotation, the name of the function, and the function itself', () => {
		expect(skill.fromFn(tone)).toMatchObject({
			name: 'myapp/tone',
			description: 'Customer tone',
			when: ['reply'],
			body: 'Be warm.',
			fn: tone,
		});
	});

	test('prefers the name in the annotation, and returns an empty list for a missing `when`', () => {
		const named = fn({ name: 'f', skill: { name: 'tone', description: 'd', body: '' } }, () => ({}));
		expect(skill.fromFn(named)).toMatchObject({ name: 'tone', when: [] });
	});

	test("uses the function's text as the body if the annotation has neither body nor bodyFn", async () => {
		expect(await skill.loadBody(skill.fromFn(receipts), { attachments: ['a', 'b'] })).toBe('Extract from 2 file(s).');
		expect(await skill.loadBody(skill.fromFn(receipts), {})).toBe('Extract from 0 file(s).');
	});

	test('keeps `modalities`, `requires` and `tools`, and converts functions to tools', () => {
		const add = fn({ name: 'add' }, () => 1);
		const f = fn(
			{ name: 'f', skill: { description: 'd', body: 'b', modalities: ['pdf'], requires: ['tone'], tools: [add] } },
			() => ({}),
		);
		expect(skill.fromFn(f)).toMatchObject({
			modalities: ['pdf'],
			requires: ['tone'],
			tools: [{ name: 'add', fn: add }],
		});
	});

	test('refuses a function without a skill annotation', () => {
		expect(refusal(() => skill.fromFn(fn({ name: 'f' }, () => 1))).code).toBe('invalid_skill');
	});
});

describe('forAgent', () => {
	test('accepts functions and records together, and keeps their order', () => {
		const record: Skill = { name: 'generated', description: 'd', body: 'b' };
		const skills = skill.forAgent([receipts, record, tone]);
		expect(skills.map(({ name }) => name)).toEqual(['receipts', 'generated', 'myapp/tone']);
		expect(skills[1]).toBe(record);
	});

	test.each(['name', 'description'])('refuses a record without %s, and names the field', (field) => {
		const { [field]: _, ...record } = { name: 'n', description: 'd' } as Record<string, string>;
		// @ts-expect-error a field is missing
		expect(refusal(() => skill.forAgent([record]))).toMatchObject({ code: 'invalid_skill', data: { field } });
	});
});

describe('findSkill', () => {
	const skills = skill.forAgent([tone, receipts]);

	test('finds a skill by name', () => {
		expect(skill.findSkill(skills, 'receipts')).toBe(skills[1]);
	});

	test.each(['nothing', '', '__proto__', 'constructor'])('returns undefined for an unknown name (%j)', (name) => {
		expect(skill.findSkill(skills, name)).toBeUndefined();
	});
});

describe('loadBody', () => {
	const load = (rest: Partial<Skill>, context: Record<string, unknown> = {}) =>
		skill.loadBody({ name: 'n', description: 'd', ...rest }, context);

	test('returns a static body verbatim, without interpolation', async () => {
		// biome-ignore lint/suspicious/noTemplateCurlyInString: the text must keep its placeholder
		const body = '  Hello ${topic} {{topic}} $1\r\n\n';
		expect(await load({ body }, { topic: 'refund' })).toBe(body);
	});

	test('returns an empty text for a skill without a body', async () => {
		expect(await load({})).toBe('');
	});

	test('prefers bodyFn to body, and waits for an async bodyFn', async () => {
		expect(await load({ body: 'static', bodyFn: () => 'made' })).toBe('made');
		expect(await load({ bodyFn: async () => 'later' })).toBe('later');
	});

	test('passes the context object to a plain bodyFn', async () => {
		const bodyFn = (context: Record<string, unknown>) => JSON.stringify(context);
		expect(await load({ bodyFn }, { topic: 'refund' })).toBe('{"topic":"refund"}');
	});

	test('passes context values by parameter name to a bodyFn that is made with fn', async () => {
		const bodyFn = fn(
			{
				name: 'b',
				params: [
					['b', v.string()],
					['a', v.string()],
					['none', v.optional(v.string())],
				],
			},
			(b, a, none) => `${b}${a}${none}`,
		);
		expect(await load({ bodyFn }, { a: 1, b: 2, c: 3 })).toBe('21undefined');
	});

	test.each(['constructor', 'toString', '__proto__'])(
		'passes undefined for a parameter %s that the context lacks',
		async (key) => {
			const bodyFn = fn({ name: 'b', params: [[key, v.unknown()]] }, (value) => String(value));
			expect(await load({ bodyFn })).toBe('undefined');
		},
	);

	test('rejects with the error of bodyFn', async () => {
		const bodyFn = () => {
			throw new Error('no data');
		};
		await expect(load({ bodyFn })).rejects.toThrow('no data');
	});

	test('refuses a bodyFn that returns no text', async () => {
		// @ts-expect-error a number is not a text
		await expect(load({ bodyFn: () => 7 })).rejects.toMatchObject({ code: 'invalid_skill' });
	});
});
