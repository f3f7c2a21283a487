/** `runlet page` makes the page with the name, logo and colours of `brand.json`. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { root } from '../../../scripts/root.ts';
import { brandCss, brandHtml, readBrand } from '../../../src/command/page/brand.ts';

const html = readFileSync(join(root, 'src/page/index.html'), 'utf8');
let folder: string;
let file: string;

beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), 'runlet-brand-'));
	file = join(folder, 'brand.json');
	onTestFinished(() => rmSync(folder, { recursive: true }));
});

const write = (brand: unknown): void => writeFileSync(file, typeof brand === 'string' ? brand : JSON.stringify(brand));

test('an empty brand changes nothing', () => {
	write({});
	expect(brandHtml(html, readBrand(file))).toBe(html);
	expect(brandCss(':root {}', readBrand(file))).toBe(':root {}');
});

test('the name stands in the title, the menu and the form, as text', () => {
	write({ name: 'A & B <Agents>' });
	const branded = brandHtml(html, readBrand(file));
	expect(branded).not.toContain('Runlet');
	expect(branded).toContain('<title>A &amp; B &lt;Agents&gt;</title>');
	expect(branded).toContain('Sign in to A &amp; B &lt;Agents&gt;');
});

test('the logo is in the page itself, in the menu, the form and the tab', () => {
	writeFileSync(join(folder, 'logo.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
	write({ logo: 'logo.svg' });
	const branded = brandHtml(html, readBrand(file));
	expect([...branded.matchAll(/<img src="data:image\/svg\+xml;base64,[\w+/=]+" alt="" \/>/g)]).toHaveLength(2);
	expect(branded).toMatch(/rel="icon"\s+href="data:image\/svg\+xml;base64,/);
	expect(branded).not.toContain('M2 8c');
});

test('the look of both themes becomes variables, and signOut an address', () => {
	write({ look: { accent: ['#5b21b6', '#c4b5fd'], radius: '0.5rem' }, signOut: '/cdn-cgi/access/logout' });
	const brand = readBrand(file);
	const css = brandCss(':root {}\n', brand);
	expect(css).toContain('\t--runlet-accent: light-dark(#5b21b6, #c4b5fd);\n\t--runlet-radius: 0.5rem;\n');
	expect(brandHtml(html, brand)).toContain('<meta name="sign-out" content="/cdn-cgi/access/logout" />');
});

describe('a mistake in the file is named with its field', () => {
	test.each([
		['{', 'brand.json: '],
		[{ colour: 'red' }, 'colour: '],
		[{ look: { accents: 'red' } }, 'look.accents: '],
		[{ look: { accent: 'red; } body { display: none' } }, 'look.accent: '],
		[{ signOut: 'javascript:alert(1)' }, 'signOut: '],
		[{ logo: 'logo.gif' }, 'logo: expected a file .svg, .png or .webp'],
		[{ logo: 'none.svg' }, 'logo: '],
	])('%o', (brand, words) => {
		write(brand);
		expect(() => readBrand(file)).toThrow(words);
	});
});
