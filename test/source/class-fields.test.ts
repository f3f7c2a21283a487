import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

/** Counts the fields of each class in a formatted source. */
function countFields(text: string): readonly (readonly [name: string, fields: number])[] {
	const classes = text.matchAll(/^(?:export )?(?:abstract )?class (\w+)[\s\S]*?^}/gm);
	return [...classes].map(([body, name = '']) => [
		name,
		[...body.matchAll(/^\t(?:(?:private|protected|public|static|override|readonly) )*#?\w+[?!]?(?::.*| =.*)?;$/gm)]
			.length,
	]);
}

test('the fields of a class are counted, and its methods are not', () => {
	const source = `class A extends B {
	readonly a: string;
	#b = 1;
	c?: { readonly d: string };
	e: number | undefined;
	get f(): string {
		return this.a;
	}
	#g(): void {
		const h = 1;
	}
}`;
	expect(countFields(source)).toEqual([['A', 4]]);
});

test('a class has at most a dozen fields', () => {
	const files = globSync('{src,scripts}/**/*.ts', { cwd: root });
	expect(files.length).toBeGreaterThan(300);
	const counted = files.flatMap((file) =>
		countFields(readFileSync(join(root, file), 'utf8')).map(([name, fields]) => ({ file, name, fields })),
	);
	expect(counted.filter(({ fields }) => fields > 12)).toEqual([]);
	expect(counted.length).toBeGreaterThan(20);
});
