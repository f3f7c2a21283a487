#!/usr/bin/env node
/** `npm create runlet DIR`: copies the folder template/ to a new folder, and gives it a name. Needs Node 20.11, and nothing else. */
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';

const usage = `npm create runlet DIR: makes a project of agents on one Cloudflare Worker
  DIR       the folder, new or empty; its name is the Worker's: a–z, 0–9 and hyphens
  --help    this text`;

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'));

const unpublished = `
If npm finds no package runlet@${version}, it is not in your registry yet. Then make it in Runlet's repository by npm pack, and
install it in the new folder: npm install PATH/runlet-${version}.tgz
`;

try {
	process.exitCode = main(process.argv.slice(2));
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
}

/**
 * @param {readonly string[]} args
 * @returns {number} the exit code
 */
function main(args) {
	if (args.includes('--help') || args.includes('-h')) {
		console.log(usage);
		return 0;
	}
	const option = args.find((arg) => arg.startsWith('-'));
	if (option !== undefined) throw new Error(`${option}: there is no such option.\n\n${usage}`);
	const [given, ...more] = args;
	if (given === undefined) throw new Error(`Where to? Name a folder: npm create runlet my-agents\n\n${usage}`);
	if (more.length > 0)
		throw new Error(`Expected one folder, got ${args.length}. Put quotes around a name with spaces.`);
	const folder = resolve(given);
	const name = toName(folder);
	assertEmpty(folder, given);
	cpSync(join(import.meta.dirname, 'template'), folder, { recursive: true });
	// npm leaves a .gitignore out of a package.
	renameSync(join(folder, 'gitignore'), join(folder, '.gitignore'));
	for (const file of ['package.json', 'wrangler.toml', 'README.md']) {
		const path = join(folder, file);
		writeFileSync(path, readFileSync(path, 'utf8').replaceAll('my-agents', name));
	}
	const tarball = findTarball();
	if (tarball !== undefined) useTarball(join(folder, 'package.json'), relative(folder, tarball));
	const shown = relative(process.cwd(), folder) || '.';
	console.log(`${shown} has a Worker with an agent, a skill and a test. Next:

  ${shown === '.' ? '' : `cd ${shown.includes(' ') ? JSON.stringify(shown) : shown} && `}npm install
  npm start
${tarball === undefined ? unpublished : ''}`);
	return 0;
}

/**
 * Finds the package runlet as a tarball: where the command runs, beside the tarball of this package, or in Runlet's repository.
 * @returns {string | undefined}
 */
function findTarball() {
	const creators = (process.env.npm_config_package ?? '').split('\n').filter((name) => name.endsWith('.tgz'));
	const folders = ['.', ...creators.map((file) => dirname(file)), join(import.meta.dirname, '../..')];
	return folders.map((one) => resolve(one, `runlet-${version}.tgz`)).find((file) => existsSync(file));
}

/**
 * Names the tarball in the place of the version, so npm install works without a registry that has the package.
 * @param {string} manifest
 * @param {string} tarball
 */
function useTarball(manifest, tarball) {
	const text = readFileSync(manifest, 'utf8');
	const file = tarball.replaceAll('\\', '/');
	writeFileSync(manifest, text.replace(`"runlet": "${version}"`, `"runlet": ${JSON.stringify(`file:${file}`)}`));
}

/**
 * The name of the Worker is a part of its address, so it has the letters of one.
 * https://developers.cloudflare.com/workers/wrangler/configuration/#inheritable-keys
 * @param {string} folder
 */
function toName(folder) {
	const name = basename(folder);
	if (/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) return name;
	const near = name
		.toLowerCase()
		.replace(/[^a-z0-9]+/g, '-')
		.replace(/^-+|-+$/g, '')
		.slice(0, 63);
	throw new Error(
		`"${name}" cannot be the name of a Worker: it takes a–z, 0–9 and inner hyphens, 63 at most. Name another folder${near === '' ? '' : `, such as ${near}`}.`,
	);
}

/**
 * A folder that Git has just made counts as empty.
 * @param {string} folder
 * @param {string} given
 */
function assertEmpty(folder, given) {
	if (!existsSync(folder)) return;
	if (!statSync(folder).isDirectory()) throw new Error(`${given} is a file. Name a new folder.`);
	const [first] = readdirSync(folder).filter((name) => name !== '.git');
	if (first !== undefined)
		throw new Error(`${given} is not empty (it has ${first}). Name a new folder, or an empty one.`);
}
