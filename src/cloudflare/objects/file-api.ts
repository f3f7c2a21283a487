import type { filePage } from '../wire/file.ts';
import type { Shown } from '../wire/operation.ts';
import type { Bytes } from './reach.ts';

export interface FilePageQuery {
	readonly cursor?: string;
	readonly limit?: number;
}

export type FilePage = Shown<typeof filePage>;

/** A range of bytes, including the byte at `to`. `last` is the number of bytes at the end. */
export type FileRange = { readonly from: number; readonly to?: number } | { readonly last: number };

export interface FileRequest {
	readonly range?: FileRange;
	readonly known?: readonly string[];
	/** Whether the body is left out. */
	readonly isHead?: boolean;
}

export type FileDownload = FilePage['files'][number] & {
	readonly tag: string;
	/** The range of the body, without the byte at `to`. */
	readonly from: number;
	readonly to: number;
	readonly body?: Bytes;
};

/** The condition of a change: the file has one of these entity tags (`*`: any), or there is no file. */
export interface IfMatch {
	readonly ifMatch?: '*' | readonly string[];
	readonly ifNoneMatch?: boolean;
}

export interface WrittenFile {
	readonly file: FilePage['files'][number];
	readonly tag: string;
	readonly isNew: boolean;
}
