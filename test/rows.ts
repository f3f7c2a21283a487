/** Wraps a storage and counts the rows that are read and written. */
export function counted(storage: DurableObjectStorage) {
	const cursors: { readonly rowsRead: number; readonly rowsWritten: number }[] = [];
	const sql = new Proxy(storage.sql, {
		get:
			(target) =>
			(...query: Parameters<SqlStorage['exec']>) => {
				const cursor = target.exec(...query);
				cursors.push(cursor);
				return cursor;
			},
	});
	const counting = new Proxy(storage, {
		get: (target, name) => (name === 'sql' ? sql : Reflect.get(target, name).bind(target)),
	});
	return {
		storage: counting,
		/** Returns the rows since the last call. */
		rows: () => {
			const all = cursors.splice(0);
			const sum = (field: 'rowsRead' | 'rowsWritten') => all.reduce((total, cursor) => total + cursor[field], 0);
			return { read: sum('rowsRead'), written: sum('rowsWritten') };
		},
	};
}
