occbench: cannot read B.csv: No such file or directory
