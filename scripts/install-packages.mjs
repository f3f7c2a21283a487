/**
 * Installs the packages of package-lock.json. Does nothing if they are installed already. Must run on Node 20.0, so it uses
 * no dependency, no TypeScript and no newer features.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const lockFile = join(tmpdir(), `runlet-install-${createHash('sha256').update(root).digest('hex').slice(0, 16)}.lock`);

if (!isInstalled()) {
	await withLock(() => {
		// Another run may have installed the packages while this run waited for the lock.
		if (!isInstalled()) install();
	});
}
refuseOldNode();

/** Whether node_modules has every required package of package-lock.json in the right version. */
function isInstalled() {
	// npm writes this file last, so an incomplete installation does not have it.
	const installed = readPackages('node_modules/.package-lock.json');
	const wanted = readPackages('package-lock.json');
	if (installed === undefined || wanted === undefined) return false;
	return Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
		if (path === '') return true;
		const found = installed[path];
		if (found === undefined) return optional === true;
		return found.version === version && found.integrity === integrity && existsSync(join(root, path, 'package.json'));
	});
}

/**
 * @param {string} path
 * @returns {Record<string, { version?: string, integrity?: string, optional?: boolean }> | undefined}
 */
function readPackages(path) {
	try {
		return JSON.parse(readFileSync(join(root, path), 'utf8')).packages;
	} catch {
		return undefined;
	}
}

function install() {
	console.error('Installing the dependencies with `npm ci`: about half a minute, longer on a slow connection.');
	// npm passes its own path and the path of its Node to a script. This Node is not the Node in node_modules,
	// which `npm ci` replaces.
	const { npm_execpath: npm = '', npm_node_execpath: outerNode } = process.env;
	const ownNode = process.execPath.startsWith(join(root, 'node_modules') + sep) ? 'node' : process.execPath;
	// The environment passes options of the outer npm to this one: `npm pack --dry-run`, `npm start --omit=dev`.
	const options = ['ci', '--include=dev', '--dry-run=false', '--global=false'];
	const [command, args] = basename(npm).startsWith('npm-cli')
		? [outerNode ?? ownNode, [npm, ...options]]
		: ['npm', options];
	const { status, error } = spawnSync(command, args, {
		cwd: root,
		// Standard output belongs to the script that follows, such as `npm pack --json`.
		stdio: ['ignore', 2, 2],
		shell: process.platform === 'win32' && command === 'npm',
	});
	if (status === 0 && isInstalled()) return;
	console.error(
		[
			`\nThe dependencies could not be installed${error === undefined ? '' : ` (${error.message})`}.`,
			'Without a network: connect, or name a registry that can be reached with `npm config set registry URL`.',
			'If npm says that package.json and package-lock.json are not in sync, run `npm install` once.',
			'Then run the same command again.',
		].join('\n'),
	);
	process.exitCode = status || 1;
}

/**
 * Runs one call at a time for this folder, across all processes. Takes over the lock of a process that died.
 * @param {() => void} run
 */
async function withLock(run) {
	const deadline = Date.now() + 10 * 60_000;
	for (let waited = false; !tryLock(); waited = true) {
		if (!waited) console.error('Another command is installing the dependencies: waiting for it.');
		if (Date.now() > deadline) {
			console.error(`Waited 10 minutes. If no installation is running, delete ${lockFile} and try again.`);
			process.exit(1);
		}
		await new Promise((wake) => setTimeout(wake, 250));
	}
	try {
		run();
	} finally {
		rmSync(lockFile, { force: true });
	}
}

function tryLock() {
	try {
		writeFileSync(lockFile, String(process.pid), { flag: 'wx' });
		return true;
	} catch (error) {
		if (getCode(error) !== 'EEXIST') throw error;
		if (!isStale()) return false;
		rmSync(lockFile, { force: true });
		return tryLock();
	}
}

function isStale() {
	try {
		const owner = Number(readFileSync(lockFile, 'utf8'));
		// A new lock file is empty until its first write.
		if (owner === 0) return Date.now() - statSync(lockFile).mtimeMs > 5_000;
		process.kill(owner, 0);
		return false;
	} catch (error) {
		return getCode(error) === 'ESRCH';
	}
}

/** @param {unknown} error */
function getCode(error) {
	return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** The Node in node_modules runs the scripts, which are TypeScript. The install script of its package downloads it. */
function refuseOldNode() {
	if (process.exitCode || Number.parseInt(process.versions.node, 10) >= 24) return;
	const bin = process.platform === 'win32' ? 'node.exe' : 'node';
	if (existsSync(join(root, 'node_modules', 'node', 'bin', bin))) return;
	console.error(
		`Node ${process.versions.node} cannot run TypeScript, and node_modules has no Node of its own: its install script did ` +
			'not run.\nRun `npm ci --ignore-scripts=false`, or use Node 24.',
	);
	process.exitCode = 1;
}
