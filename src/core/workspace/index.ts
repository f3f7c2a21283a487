/** `workspace`: the files of a session and their store. */

export { type InMemoryOptions, inMemory } from './memory.ts';
export type { Quota } from './plan.ts';
export type {
	ByteRange,
	ChangedFile,
	Edit,
	FileChange,
	FileChanges,
	FileInfo,
	FolderInfo,
	LineRange,
	ListedEntry,
	Listing,
	ListOptions,
	TextLines,
	Workspace,
} from './workspace.ts';
