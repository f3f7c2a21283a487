/** `npm run example NAME`: runs a file of `examples/`. Without a name it lists them. */
import { readdirSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { RunletError } from '../src/core/base/errors.ts';
import { root } from './root.ts';
import { listSources } from './source-names.ts';

// An example imports the package by its name, as in a project of its own.
const sources = listSources();
registerHooks({
	resolve(name, context, next) {
		const path = sources.get(name);
		return path === undefined ? next(name, context) : next(pathToFileURL(path).href, context);
	},
});

const folder = join(root, 'examples');
const names = readdirSync(folder)
	.filter((file) => file.endsWith('.ts'))
	.map((file) => file.replace(/\.ts$/, ''))
	.filter((name) => name !== 'show');
const [name] = process.argv.splice(2, 1);

if (name !== undefined && names.includes(name)) {
	await import(pathToFileURL(join(folder, `${name}.ts`)).href).catch((error: unknown) => {
		if (!(error instanceof RunletError)) throw error;
		console.error(error.message);
		process.exitCode = 1;
	});
} else {
	const isAsked = name === undefined || ['--help', '-h'].includes(name);
	if (!isAsked) console.error(`${name}: there is no such ${name.startsWith('-') ? 'option' : 'example'}.`);
	console.log(`npm run example NAME: runs a file of examples/, where NAME is one of: ${names.join(', ')}`);
	process.exitCode = isAsked ? 0 : 1;
}
