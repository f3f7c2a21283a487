import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { fromMarkdown, toMarkdown, validateMarkdown } from '../../../src/core/skill/markdown.ts';
import { corpus } from './corpus.ts';

/**
 * The format's rules (https://agentskills.io/specification) once more, in as few lines as they take, with another reader
 * of the front matter: `field:line` of each breach.
 */
function breaches(text: string, directory: string): string[] {
	const [, yaml = ''] = /^---\n(.*?)\n---(?:\n|$)/s.exec(text) ?? [];
	const lines = yaml.split('\n');
	const readLine = (key: string) => lines.findIndex((line) => line.startsWith(`${key}:`)) + 2;
	const keys = new Map<string, unknown>(Object.entries(parse(yaml)));
	const rules: Record<string, (value: unknown) => boolean> = {
		name: (value) => /^(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*$/.test(String(value)) && value === directory,
		description: (value) => typeof value === 'string' && /^.{1,1024}$/su.test(value),
		license: (value) => typeof value === 'string',
		compatibility: (value) => typeof value === 'string' && /^.{1,500}$/su.test(value),
		metadata: (value) => Object.values(Object(value)).every((item) => typeof item === 'string'),
		'allowed-tools': (value) => typeof value === 'string' && !/,(?![^(]*\))/.test(value),
	};
	const broken = [...keys].filter(([key, value]) => rules[key]?.(value) !== true).map(([key]) => key);
	const missing = ['name', 'description'].filter((key) => !keys.has(key)).map((key) => `${key}:1`);
	return [...missing, ...broken.map((key) => `${key}:${readLine(key)}`)].sort();
}

describe('268 real skills', () => {
	test('can all be read, with their front matter and body', () => {
		const skills = corpus.map(({ text, directory }) => fromMarkdown(text, { directory }));
		expect(skills).toHaveLength(268);
		for (const [at, { name, description, body = '' }] of skills.entries()) {
			expect(corpus[at]?.text).toContain(name);
			expect(description).not.toBe('');
			expect(corpus[at]?.text.endsWith(body)).toBe(true);
		}
	});

	test.each(corpus)('$path is unchanged and equally valid after a round trip', ({ text, directory }) => {
		const skill = fromMarkdown(text, { directory });
		const written = toMarkdown(skill);
		expect(fromMarkdown(written)).toStrictEqual(skill);
		const valid = validateMarkdown(text, { directory }).length === 0;
		expect(validateMarkdown(written, { directory }).length === 0).toBe(valid);
	});

	test.each(corpus)('$path has the same violations on the same lines in an independent checker', (file) => {
		const found = validateMarkdown(file.text, file);
		expect(found.map(({ field, line }) => `${field}:${line}`).sort()).toEqual(breaches(file.text, file.directory));
	});

	test('include one that cannot be published, because its name differs from its folder', () => {
		const found = corpus.flatMap((file) =>
			validateMarkdown(file.text, file).map((one) => ({ ...one, path: file.path })),
		);
		const errors = found.filter(({ severity }) => severity === 'error');
		expect(errors).toMatchObject([{ path: expect.stringContaining('skills/postgresql/'), field: 'name' }]);
		expect(new Set(found.map(({ severity }) => severity))).toEqual(new Set(['error', 'warning']));
	});

	test('include 46 that violate a rule', () => {
		const fields = corpus.flatMap(({ text, directory }) =>
			validateMarkdown(text, { directory }).map(({ field }) => field),
		);
		const broken = corpus.filter(({ text, directory }) => validateMarkdown(text, { directory }).length > 0);
		expect(broken).toHaveLength(46);
		expect(new Set(fields)).toEqual(
			new Set(['description', 'version', 'allowed-tools', 'argument-hint', 'disable-model-invocation', 'name']),
		);
	});
});
