import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { validateMarkdown } from '../../src/core/skill/markdown.ts';
import { corpus } from '../core/skill/corpus.ts';

describe('npm run skills -- --check', () => {
	const check = async (directory: string) => {
		const args = [join(import.meta.dirname, '../../src/command/bin.ts'), 'skills', '--check', '--directory', directory];
		return promisify(execFile)(process.execPath, args, { cwd: directory }).then(
			({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
			({ code, stdout, stderr }) => ({ code, stdout, stderr }),
		);
	};

	test('reports each violation and each duplicate name of 268 real skills with its file and line', async () => {
		const { code, stdout, stderr } = await check(join(import.meta.dirname, '../fixtures/skills-corpus'));
		const breaches = corpus.flatMap(({ path, text, directory }) =>
			validateMarkdown(text, { directory }).map(({ severity, message, line }) => {
				return `${path}:${line}: ${severity === 'warning' ? 'warning: ' : ''}${message}`;
			}),
		);
		const lines = stderr.trim().split('\n');
		const twice = lines.filter((line: string) => line.includes('is the name of'));
		expect(twice.map((line: string) => line.split(':')[0])).toEqual([
			'getsentry+skills/skills/brand-guidelines/SKILL.md',
			'openai+skills/skills/.system/skill-creator/SKILL.md',
		]);
		expect(lines.filter((line: string) => !twice.includes(line)).sort()).toEqual(breaches.sort());
		expect(stdout).toBe('skills: 268 checked, 3 problems in 3 of them, 49 warnings in 45 of them\n');
		expect(code).toBe(1);
	});

	test('finds no problems in the skills of this repository', async () => {
		expect(await check(join(import.meta.dirname, '../../skills'))).toMatchObject({
			code: 0,
			stdout: expect.stringMatching(/^skills: [1-9]\d* checked, no problems\n$/),
			stderr: '',
		});
	});
});
