import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { root } from '../project.ts';

export interface WatchOptions {
	/** Wrangler's configuration. */
	readonly config: string;
	/** Called when a file of the Worker was saved. A running Wrangler sees it too. */
	readonly onSource: (savedAt: number) => void;
	/** Called shortly after the last of several TypeScript files was saved. */
	readonly onTypeScript: () => void;
	/** Called with the name of a saved file of variables. */
	readonly onVariables: (file: string) => void;
	readonly onSkills: () => void;
}

/** Milliseconds to wait after a change, because editors write a file in several steps. */
const settleMs = 150;
/** Milliseconds to wait before a check of the types, because people often save several files in a row. */
const typesSettleMs = 1_000;

/** Watches the files that Wrangler does not watch, and also the Worker's files, for when Wrangler is down. */
export function watchFiles({ config, onSource, onTypeScript, onVariables, onSkills }: WatchOptions): void {
	const source = settle((_, savedAt) => onSource(savedAt));
	const variables = settle(onVariables);
	const skills = settle(onSkills);
	const types = settle(onTypeScript, typesSettleMs);
	followAll(join(root, 'src'), (file) => {
		source(file);
		// The system does not always report the file name.
		if (file === '' || /\.[cm]?ts$/.test(file)) types(file);
	});
	const skillFolders: Watchers = new Map();
	followAll(join(root, 'skills'), skills, skillFolders);
	follow(root, (file) => {
		if (/^\.(dev\.vars|env)(\.[\w.-]+)?$/.test(file)) variables(file);
		if (file === 'package.json' || /^[^.].*\.[cm]?[jt]s$|^tsconfig\.json$/.test(file)) source(file);
		if (file === 'tsconfig.json') types(file);
		// The folder `skills` was created or moved away.
		if (file === 'skills') {
			followAll(join(root, 'skills'), skills, skillFolders);
			skills(file);
		}
	});
	follow(dirname(config), (file) => {
		if (file === basename(config)) source(file);
	});
}

/** Calls back shortly after a file of a folder was saved. */
export function watchFolder(folder: string, onSave: () => void): void {
	followAll(folder, settle(onSave));
}

type Watchers = Map<string, FSWatcher>;

/**
 * Watches a folder and all folders in it, each separately. On Linux, a recursive watcher of Node watches single
 * files, and loses a file that an editor replaces. A folder that was recreated gets a new watcher.
 */
function followAll(folder: string, onChange: (file: string) => void, watchers: Watchers = new Map()): void {
	watchers.get(folder)?.close();
	const watcher = follow(folder, (file) => {
		if (listFolders(folder).includes(file)) {
			followAll(join(folder, file), onChange, watchers);
			// Files may have been created before their folder was watched.
			onChange('');
		}
		onChange(file);
	});
	if (watcher === undefined) return;
	watchers.set(folder, watcher);
	for (const name of listFolders(folder)) followAll(join(folder, name), onChange, watchers);
}

/** Returns the names of the folders. Returns no names if the folder no longer exists. */
function listFolders(folder: string): readonly string[] {
	try {
		const entries = readdirSync(folder, { withFileTypes: true });
		return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
	} catch {
		return [];
	}
}

/** Watches a folder. Reports nothing if the folder does not exist or cannot be watched. */
function follow(folder: string, onChange: (file: string) => void): FSWatcher | undefined {
	try {
		const watcher = watch(folder, { persistent: false }, (_, file) => onChange(file ?? ''));
		return watcher.on('error', () => {});
	} catch {
		return undefined;
	}
}

function settle(call: (file: string, savedAt: number) => void, ms = settleMs): (file: string) => void {
	let timer: NodeJS.Timeout | undefined;
	return (file) => {
		const savedAt = Date.now();
		clearTimeout(timer);
		timer = setTimeout(() => call(file, savedAt), ms);
	};
}
