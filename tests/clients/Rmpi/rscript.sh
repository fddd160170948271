# Two peculiarities of R and Rmpi in Debian. R puts the system's folder of libraries in front of LD_LIBRARY_PATH, unless
# R_LD_LIBRARY_PATH says what is to be there. Rmpi opens libmpi.so, which is in no package that it needs: here that is
# the library that the loader finds.
library=$(LD_TRACE_LOADED_OBJECTS=1 /lib64/ld-linux-x86-64.so.2 /usr/lib/R/site-library/Rmpi/libs/Rmpi.so |
    sed -n 's/.*libmpi.so.40 => \([^ ]*\) .*/\1/p')
mkdir -p "here.$$"
ln -s "$library" "here.$$/libmpi.so"
R_LD_LIBRARY_PATH=$PWD/here.$$:${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/lib/R/lib exec Rscript sum.R
