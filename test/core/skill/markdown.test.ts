import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RunletError } from '../../../src/core/base/errors.ts';
import { fromMarkdown, toMarkdown, validateMarkdown } from '../../../src/core/skill/markdown.ts';
import type { Skill } from '../../../src/core/skill/skill.ts';

const plain = '---\nname: pdf\ndescription: Reads PDFs.\n---\n\n# PDF\n';

function readFile(...frontMatter: string[]): string {
	return ['---', ...frontMatter, '---', '', 'Body', ''].join('\n');
}

function readRefusal(text: string, directory?: string): RunletError {
	try {
		fromMarkdown(text, { directory });
	} catch (error) {
		if (error instanceof RunletError) return error;
		throw error;
	}
	throw new Error('it was read');
}

describe('fromMarkdown', () => {
	test('reads name, description and body of a minimal file', () => {
		expect(fromMarkdown(plain)).toStrictEqual({ name: 'pdf', description: 'Reads PDFs.', body: '# PDF\n' });
	});

	test('reads the body unchanged, except for a blank first line', () => {
		const readBody = (after: string) => fromMarkdown(`---\nname: a\ndescription: b\n---${after}`).body;
		expect(readBody('')).toBe('');
		expect(readBody('\n')).toBe('');
		expect(readBody('\nText')).toBe('Text');
		expect(readBody('\n\n\n  Text  \n\n')).toBe('\n  Text  \n\n');
		expect(readBody('\n\nOne\n---\nTwo\n---\n')).toBe('One\n---\nTwo\n---\n');
	});

	test('accepts a byte order mark, CRLF, and blanks after the dashes', () => {
		const skill = fromMarkdown('\uFEFF---  \r\nname: a\r\ndescription: |\r\n  one\r\n  two\r\n---\t\r\n\r\nBody\r\n');
		expect(skill).toStrictEqual({ name: 'a', description: 'one\ntwo', body: 'Body\r\n' });
		expect(validateMarkdown('\uFEFF---\r\nname: a\r\ndescription: b\r\n---\r\n')).toEqual([]);
	});

	test('reads the metadata keys `when`, `modalities` and `requires` as lists or as comma-separated text', () => {
		const text = readFile(
			'name: a',
			'description: b',
			'metadata:',
			'  when: merge a pdf,  split a pdf ,',
			'  modalities: [pdf, image]',
			'  requires:',
			'    - files',
			'    - 7',
			'  author: me',
		);
		expect(fromMarkdown(text)).toStrictEqual({
			name: 'a',
			description: 'b',
			when: ['merge a pdf', 'split a pdf'],
			modalities: ['pdf', 'image'],
			requires: ['files', '7'],
			body: 'Body\n',
			frontMatter: { metadata: { author: 'me' } },
		});
	});

	test('keeps all remaining keys in frontMatter, and reads a version such as 1.10 as text', () => {
		const text = readFile(
			'name: a',
			'description: b',
			'license: MIT',
			'compatibility: Needs git',
			'allowed-tools: Read Bash(git:*)',
			'version: 1.10',
			'disable-model-invocation: false',
			'empty:',
			'metadata: {version: 1.0, date: 2026-01-31, draft: no, nested: {n: 1}}',
		);
		expect(fromMarkdown(text).frontMatter).toStrictEqual({
			license: 'MIT',
			compatibility: 'Needs git',
			'allowed-tools': 'Read Bash(git:*)',
			version: '1.10',
			'disable-model-invocation': false,
			metadata: { version: '1.0', date: '2026-01-31', draft: 'no', nested: { n: 1 } },
		});
	});

	test('accepts an unusual name', () => {
		expect(fromMarkdown(readFile('name: My Skill_2!', 'description: b'), { directory: 'other' }).name).toBe(
			'My Skill_2!',
		);
		expect(fromMarkdown(readFile('name: 404', 'description: b')).name).toBe('404');
	});

	test('uses the folder name if the file has no name', () => {
		expect(fromMarkdown(readFile('description: b'), { directory: 'pdf' }).name).toBe('pdf');
		expect(fromMarkdown(readFile('name:', 'description: b'), { directory: 'pdf' }).name).toBe('pdf');
	});

	test('refuses a file that has neither a name nor a folder', () => {
		expect(readRefusal(readFile('description: b'))).toMatchObject({
			code: 'invalid_skill',
			data: { field: 'name', line: 1 },
		});
	});

	test('throws an error that names the file, the line, the mistake and the remedy', () => {
		const error = readRefusal(readFile('name: a', 'description: "never closed', 'license: MIT'), 'pdf');
		expect(error.code).toBe('invalid_skill');
		expect(error.message).toMatch(/^SKILL\.md of "pdf", line \d: The front matter is not valid YAML: /);
		expect(readRefusal(readFile('name: a', '', 'description:')).message).toMatch(
			/^SKILL\.md, line 4: description is missing: write /,
		);
	});

	test.each([
		['missing front matter', '# PDF\n', 'frontMatter', 1],
		['an empty text', '', 'frontMatter', 1],
		['front matter after another line', `\n${plain}`, 'frontMatter', 1],
		['front matter that is never closed', '---\nname: a\ndescription: b\n', 'frontMatter', 1],
		['front matter without keys', '---\n---\nBody', 'description', 1],
		['front matter that is a list', readFile('- name', '- description'), 'frontMatter', 2],
		['a missing description', readFile('name: a'), 'description', 1],
		['a blank description', readFile('name: a', 'description: "  "'), 'description', 3],
		['a description that is a list', readFile('name: a', 'description: [b]'), 'description', 3],
		['a duplicate key', readFile('name: a', 'description: b', 'name: c'), 'frontMatter', 4],
		['a tab as indentation', readFile('name: a', 'description: b', 'metadata:', '\tk: v'), 'frontMatter', 5],
		['an anchor', readFile('name: &n a', 'description: b'), 'frontMatter', 2],
		['an alias', readFile('name: a', 'description: b', 'metadata: {k: *n}'), 'frontMatter', 4],
		['a list nested too deep', readFile('name: a', 'description: b', `x: ${'['.repeat(20_000)}`), 'frontMatter', 4],
	])('%s is an error, which validateMarkdown also reports', (_what, text, field, line) => {
		const error = readRefusal(text, 'pdf');
		expect(error).toMatchObject({ code: 'invalid_skill', data: { field, line } });
		expect(validateMarkdown(text)).toContainEqual(expect.objectContaining({ field, line }));
	});
});

describe('YAML that is valid only with quotes', () => {
	test.each([
		['description: Use when: a PDF is there', 'Use when: a PDF is there'],
		["description: Issue: it's the reader's #1", "Issue: it's the reader's #1"],
		['description: Reads.\n  Use when: a PDF\n  is there', 'Reads. Use when: a PDF is there'],
		['description: Ends with a colon:', 'Ends with a colon:'],
		['description: *Reads* PDFs', '*Reads* PDFs'],
		['description: `pdf` reader', '`pdf` reader'],
		['description: @pdf', '@pdf'],
	])('%j is read, and validateMarkdown warns about it', (line, description) => {
		const text = readFile('name: a', line, 'license: MIT');
		expect(fromMarkdown(text)).toMatchObject({ name: 'a', description, frontMatter: { license: 'MIT' } });
		expect(validateMarkdown(text)).toEqual([
			{ severity: 'warning', field: 'description', message: expect.stringContaining('in quotes'), line: 3 },
		]);
	});

	test('several such values are read, and each is reported at its line', () => {
		const text = readFile(
			'name: a',
			'description: b: c',
			'compatibility: d: e',
			'metadata:',
			'  note: f: g',
			'  when: h',
		);
		expect(fromMarkdown(text)).toMatchObject({
			description: 'b: c',
			when: ['h'],
			frontMatter: { compatibility: 'd: e', metadata: { note: 'f: g' } },
		});
		expect(validateMarkdown(text).map(({ field, line }) => [field, line])).toEqual([
			['description', 3],
			['compatibility', 4],
			['frontMatter', 6],
		]);
	});

	test.each([
		['a key that is indented by mistake', ['name: a', 'description: b', '  license: MIT']],
		['text behind a quoted value', ['name: a', 'description: "b" c: d']],
		['text behind a list', ['name: a', 'description: [b] c']],
		['a list under text', ['name: a', 'description: b', 'license: MIT', '- c']],
	])('%s is refused, and not repaired', (_what, lines) => {
		expect(readRefusal(readFile(...lines)).code).toBe('invalid_skill');
	});
});

describe('toMarkdown', () => {
	test('writes the lists `when`, `modalities` and `requires` as comma-separated text under `metadata`', () => {
		const text = toMarkdown({
			name: 'pdf',
			description: 'Reads PDFs: all of them.',
			when: ['merge a pdf', 'split a pdf'],
			modalities: ['pdf'],
			requires: ['files', 'ocr'],
			body: '# PDF\n',
			frontMatter: { license: 'MIT', metadata: { author: 'me', version: '1.0' } },
		});
		expect(text).toBe(
			[
				'---',
				'name: pdf',
				'description: "Reads PDFs: all of them."',
				'license: MIT',
				'metadata:',
				'  author: me',
				'  version: "1.0"',
				'  when: merge a pdf, split a pdf',
				'  modalities: pdf',
				'  requires: files, ocr',
				'---',
				'',
				'# PDF',
				'',
			].join('\n'),
		);
		expect(validateMarkdown(text, { directory: 'pdf' })).toEqual([]);
	});

	test('quotes text that YAML 1.1 reads as a date or a boolean', () => {
		const metadata = { date: '2026-01-31', draft: 'no' };
		expect(toMarkdown({ name: 'a', description: 'b', frontMatter: { metadata } })).toContain(
			'  date: "2026-01-31"\n  draft: "no"\n',
		);
	});

	test('refuses a skill with a bodyFn', () => {
		const skill: Skill = { name: 'a', description: 'b', bodyFn: () => 'c' };
		expect(() => toMarkdown(skill)).toThrow(expect.objectContaining({ code: 'invalid_skill' }));
	});

	test('refuses a skill with the list `when` if the metadata of its front matter is not a map', () => {
		const skill: Skill = { name: 'a', description: 'b', when: ['c'], frontMatter: { metadata: 'text' } };
		expect(() => toMarkdown(skill)).toThrow(expect.objectContaining({ code: 'invalid_skill' }));
	});
});

describe('a round trip', () => {
	const text = fc.oneof(
		fc.string({ unit: 'binary' }),
		fc.string({ unit: 'grapheme' }),
		fc
			.array(
				fc.constantFrom(
					'a',
					'Use',
					': ',
					':',
					' #',
					'"',
					"'",
					'\n',
					'\r\n',
					'\r',
					'\t',
					' ',
					'---',
					'\n---\n',
					'...',
					'- ',
					'|',
					'>',
					'&a',
					'*a',
					'{',
					']',
					'%',
					'@',
					'!',
					'\\',
					'\u2028',
					'\u0085',
					'\uFEFF',
					'é',
					'🙂',
					'1.0',
					'no',
					'~',
					'null',
					'2026-01-31',
				),
				{ maxLength: 12 },
			)
			.map((parts) => parts.join('')),
	);
	const filled = text.map((value) => value.trim()).filter((value) => value !== '');
	const list = fc.array(
		filled.map((value) => value.replaceAll(',', ';').trim()),
		{ minLength: 1, maxLength: 3 },
	);
	// JSON writes no negative zero.
	const json = fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value)));
	const metadata = fc.dictionary(
		text.filter((key) => !['when', 'modalities', 'requires'].includes(key)),
		fc.oneof(text, fc.record({ inner: json })),
		{ minKeys: 1, maxKeys: 3 },
	);
	const frontMatter = fc.record(
		{
			license: text,
			compatibility: text,
			'allowed-tools': fc.oneof(text, fc.array(text)),
			metadata,
			other: fc.array(json),
		},
		{ requiredKeys: [] },
	);
	const skills: fc.Arbitrary<Skill> = fc
		.record(
			{ name: filled, description: filled, body: text, when: list, modalities: list, requires: list, frontMatter },
			{ requiredKeys: ['name', 'description', 'body'] },
		)
		.map(({ frontMatter: rest, ...skill }) =>
			rest && Object.keys(rest).length > 0 ? { ...skill, frontMatter: rest } : skill,
		);

	test('through toMarkdown and fromMarkdown keeps any skill unchanged', () => {
		fc.assert(
			fc.property(skills, (skill) => {
				expect(fromMarkdown(toMarkdown(skill))).toEqual(skill);
			}),
			{
				numRuns: 200,
				examples: [
					[{ name: 'a', description: 'b', body: '', when: ['a\n \nb', '\0'.repeat(9)] }],
					[{ name: 'a', description: 'b', body: '', frontMatter: { license: ' \n' } }],
				],
			},
		);
	});

	test('keeps the skill of any file that can be read, and validateMarkdown throws for no file', () => {
		const line = fc.oneof(
			fc
				.tuple(fc.constantFrom('name', 'description', 'license', 'metadata', '  when', '  k', '- x', 'x'), text)
				.map(([key, value]) => `${key}: ${value}`),
			text,
		);
		const files = fc
			.array(line, { maxLength: 8 })
			.map((lines) => ['---', 'description: b', ...lines, '---', 'Body'].join('\n'));
		fc.assert(
			fc.property(fc.oneof(files, text), (file) => {
				expect(Array.isArray(validateMarkdown(file, { directory: 'a' }))).toBe(true);
				let skill: Skill;
				try {
					skill = fromMarkdown(file, { directory: 'a' });
				} catch (error) {
					expect(error).toMatchObject({ code: 'invalid_skill' });
					return;
				}
				expect(fromMarkdown(toMarkdown(skill))).toEqual(skill);
			}),
			{ numRuns: 400 },
		);
	});
});

describe('validateMarkdown', () => {
	test('accepts a file with every key', () => {
		const text = readFile(
			'name: pdf-2-text',
			`description: ${'ü'.repeat(1023)}🙂`,
			'license: MIT',
			`compatibility: ${'x'.repeat(500)}`,
			'allowed-tools: Read Bash(git add:*) Bash(cut -d, *)',
			'metadata: {author: me, version: "1.0"}',
		);
		expect(validateMarkdown(text, { directory: 'pdf-2-text' })).toEqual([]);
	});

	test.each([
		['an unknown key', ['version: 1.0'], 'version', 4],
		['a key of the prototype', ['constructor: x'], 'constructor', 4],
		['a license that is a number', ['license: 2'], 'license', 4],
		['an empty compatibility', ['compatibility: ""'], 'compatibility', 4],
		['a compatibility of 501 characters', [`compatibility: ${'x'.repeat(501)}`], 'compatibility', 4],
		['a compatibility that is a list', ['compatibility: [a]'], 'compatibility', 4],
		['metadata that is text', ['metadata: x'], 'metadata', 4],
		['metadata without a value', ['metadata:'], 'metadata', 4],
		['a number in metadata', ['metadata:', '  author: me', '  version: 1.0'], 'metadata.version', 6],
		['a list in metadata', ['metadata:', '  when: [a]'], 'metadata.when', 5],
		['allowed-tools that is a list', ['allowed-tools: [Read]'], 'allowed-tools', 4],
		['allowed-tools with commas', ['allowed-tools: Read, Grep'], 'allowed-tools', 4],
	])('%s is reported with its line', (_what, lines, field, line) => {
		const found = validateMarkdown(readFile('name: a', 'description: b', ...lines));
		expect(found).toEqual([{ severity: 'warning', field, line, message: expect.stringContaining(field) }]);
	});

	test.each(['A', '-a', 'a-', 'a--b', 'a_b', 'a b', 'é', 'a'.repeat(65), '""', '404', 'true', '[a]', '" a"', ''])(
		'the name %j is reported once',
		(name) => {
			const found = validateMarkdown(readFile(`name: ${name}`, 'description: b'));
			expect(found).toEqual([{ severity: 'error', field: 'name', line: 2, message: expect.any(String) }]);
		},
	);

	test('reports a name that differs from its folder', () => {
		const found = validateMarkdown(plain, { directory: 'docs' });
		expect(found).toEqual([{ severity: 'error', field: 'name', line: 2, message: expect.stringContaining('"docs"') }]);
	});

	test.each([
		['""', 'error'],
		['"  "', 'error'],
		['[b]', 'error'],
		['', 'error'],
		['x'.repeat(1025), 'warning'],
		['7', 'warning'],
	])('the description %j is an error if fromMarkdown refuses it, else a warning', (description, severity) => {
		const text = readFile('name: a', `description: ${description}`);
		expect(validateMarkdown(text)).toEqual([{ severity, field: 'description', line: 3, message: expect.any(String) }]);
		if (severity === 'error') expect(() => fromMarkdown(text)).toThrow('description');
		else expect(fromMarkdown(text).description).toBe(description);
	});

	test('reports all missing keys at once', () => {
		expect(validateMarkdown(readFile('license: MIT')).map(({ field }) => field)).toEqual(['name', 'description']);
	});
});
